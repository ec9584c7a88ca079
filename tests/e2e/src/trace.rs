//! The binary's own account of its operations: the file of `seam serve --trace`.
