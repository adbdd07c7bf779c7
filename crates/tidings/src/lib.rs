//! The composition root: the house, its command line and its page.
