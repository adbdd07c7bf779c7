//! The door and the pages, asked as a browser and a stranger would.
