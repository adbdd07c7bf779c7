//! The house on embedded engines: it starts, settles, stops, crashes and comes back.
