//! Laws of the JSON rendering, on generated values.

use proptest::prelude::*;
use seam_contract::{
    Call, Caller, Operation,
    document::{self, Bodies},
    fetch::Request,
    headers::Headers,
    json::{self, Value},
};

fn value() -> impl Strategy<Value = Value> {
    let number = prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        any::<f64>()
            .prop_filter("JSON has no infinities", |f| f.is_finite())
            .prop_map(|f| format!("{f:?}")),
        "-?[1-9][0-9]{0,40}(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        number.prop_map(|text| json::parse(&text).unwrap()),
        any::<String>().prop_map(Value::String),
    ];
    leaf.prop_recursive(6, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::Array),
            prop::collection::btree_map(any::<String>(), inner, 0..8)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn a_value_comes_back_from_its_text(value in value()) {
        let text = json::write(&value);
        prop_assert!(!text.contains('\n'));
        prop_assert_eq!(json::parse(&text).unwrap(), value);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "[\\[\\]{}:,\"0-9eE+\\-.a-z\\\\u \u{e9}\u{2028}]{0,60}") {
        if let Ok(value) = json::parse(&text) {
            prop_assert_eq!(json::parse(&json::write(&value)).unwrap(), value);
        }
    }

    #[test]
    fn a_request_comes_back_from_its_document(
        path in "[ -~]{0,20}",
        fields in prop::collection::vec(("[a-zA-Z-]{1,8}", "[ -~\u{80}-\u{ff}]{0,12}"), 0..6),
        body in prop::option::of(prop::collection::vec(any::<u8>(), 0..32)),
    ) {
        let Ok(headers) = Headers::new(fields) else { return Ok(()) };
        let Ok(request) = Request::new("POST", &format!("http://ok.test/{path}"), headers, body.map(Into::into)) else { return Ok(()) };
        let operation = Operation::Fetch(request);
        let call = Call::new(std::sync::Arc::new(Caller::new("e")), &operation);
        for bodies in [Bodies::Withheld, Bodies::Given] {
            let text = json::write(&document::input(&call, &operation, bodies));
            let read = document::read_input(&call, &operation, bodies, &json::parse(&text).unwrap()).unwrap();
            prop_assert_eq!(&read, &operation);
        }
    }
}
