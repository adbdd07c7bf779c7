//! Pushes to the world: Apple's devices by APNs, Android's by FCM, browsers and whoever speaks like them by Web Push.
//!
//! [`pusher`] takes a message to all devices of a person; [`apns`], [`fcm`] and [`web`] are one service each: what it is
//! told, and what its answers mean. Below them are `jwt`, by which we say who we are, and `encrypt`, since a browser's
//! service may not read what it carries.

pub mod apns;
mod encrypt;
pub mod fcm;
mod jwt;
pub mod pusher;
mod root;
mod service;
pub mod web;

pub use jwt::JwtKey;
pub use pusher::{PushCourier, Settings};
