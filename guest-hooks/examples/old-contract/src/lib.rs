//! Built for another version of the contract. Exists to be refused.

wit_bindgen::generate!({ path: "wit", world: "fetch-pre-hook" });

use exports::seam::hooks::fetch_pre::Guest;

struct OldContract;

impl Guest for OldContract {
    fn pre(method: String, url: String) -> bool {
        method == "GET" && url.starts_with("https://")
    }
}

export!(OldContract);
