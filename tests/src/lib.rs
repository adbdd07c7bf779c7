//! The tests of the whole house. The laws are in `laws/`, the killed process in `kill/`.
