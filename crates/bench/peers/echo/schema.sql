-- The tables of MediaWiki's Echo that its overlay reads, as its documentation has them.
CREATE TABLE echo_event (
  event_id INT UNSIGNED NOT NULL PRIMARY KEY,
  event_type VARCHAR(64) CHARACTER SET utf8 COLLATE utf8_bin NOT NULL,
  event_agent_id INT UNSIGNED NULL,
  event_agent_ip VARCHAR(39) CHARACTER SET utf8 COLLATE utf8_bin NULL,
  event_page_title VARCHAR(255) CHARACTER SET utf8 COLLATE utf8_bin NULL,
  KEY type_page (event_type, event_page_title)
) ENGINE=InnoDB;

CREATE TABLE echo_notification (
  notification_event INT UNSIGNED NOT NULL,
  notification_user INT UNSIGNED NOT NULL,
  notification_timestamp BINARY(14) NOT NULL,
  notification_read_timestamp BINARY(14) NULL,
  notification_bundle_base TINYINT UNSIGNED NOT NULL DEFAULT 1,
  notification_bundle_hash VARCHAR(32) CHARACTER SET utf8 COLLATE utf8_bin NOT NULL,
  notification_bundle_display_hash VARCHAR(32) CHARACTER SET utf8 COLLATE utf8_bin NOT NULL,
  UNIQUE KEY user_event (notification_user, notification_event),
  KEY user_timestamp (notification_user, notification_timestamp),
  KEY echo_notification_user_base_timestamp (notification_user, notification_bundle_base, notification_timestamp),
  KEY echo_notification_user_hash_timestamp (notification_user, notification_bundle_hash, notification_timestamp),
  KEY echo_notification_user_hash_base_timestamp
    (notification_user, notification_bundle_display_hash, notification_bundle_base, notification_timestamp),
  KEY echo_notification_user_base_read_timestamp
    (notification_user, notification_bundle_base, notification_read_timestamp)
) ENGINE=InnoDB;
