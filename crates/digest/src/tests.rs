//! Tests of the room, as data behind one `check`.
