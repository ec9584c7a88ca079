//! One suite of cases, run against every hook backend.
