//! What made-up requests cannot bring about, and why.

/// Refusals that a plan names and no sequence of these operations reaches: of which write (`*` for all), which, and why.
pub const UNREACHED: &[(&str, &[&str], &str)] = &[
    (
        "*",
        &[
            "activity_exists",
            "auction_exists",
            "audit_log_exists",
            "booking_exists",
            "item_auction_exists",
            "item_exists",
            "notification_exists",
            "payment_exists",
            "place_exists",
            "reservation_by_id_exists",
            "reservation_exists",
            "task_exists",
            "user_booking_exists",
            "user_item_exists",
        ],
        "its id is made up, and none is made up twice",
    ),
    (
        "*",
        &[
            "bid_count_out_of_range",
            "bookings_approved_out_of_range",
            "items_given_out_of_range",
            "rating_count_out_of_range",
            "rating_sum_out_of_range",
            "shared_count_out_of_range",
        ],
        "a counter without an upper limit only grows",
    ),
    ("*", &["place_not_found"], "a place that is gone is passed over"),
    (
        "*",
        &["same_item"],
        "no arguments make its steps change one row in two ways",
    ),
    (
        "todo.deleteUser",
        &["task_not_found"],
        "it deletes the tasks that it finds",
    ),
    ("todo.deleteUser", &["email_taken"], "the address stays"),
    (
        "todo.deleteCompletedTasks",
        &["task_not_found"],
        "it deletes the tasks that it finds",
    ),
    (
        "todo.createTask",
        &["user_id_out_of_range"],
        "who has such an id cannot register, and is not found",
    ),
    (
        "todo.createTask",
        &["user_is_being_deleted"],
        "only between two turns of `deleteUser`",
    ),
    (
        "booking.requestBooking",
        &["user_id_out_of_range"],
        "who has such an id cannot register, and is not found",
    ),
    ("booking.approveBooking", &["user_not_found"], "nobody who booked goes"),
    ("booking.approveBooking", &["email_taken"], "the address stays"),
    (
        "booking.approveBooking",
        &["lock_code_exists"],
        "the event of its slot refuses first",
    ),
    (
        "booking.approveBooking",
        &["actor_out_of_range"],
        "`decidedBy` refuses such an id first",
    ),
    (
        "booking.rejectBooking",
        &["actor_out_of_range"],
        "`decidedBy` refuses such an id first",
    ),
    (
        "booking.recordPayment",
        &["actor_out_of_range"],
        "`recordedBy` refuses such an id first",
    ),
    (
        "booking.createEvent",
        &["actor_out_of_range"],
        "`createdBy` refuses such an id first",
    ),
    (
        "booking.cancelBooking",
        &["event_not_found", "lock_code_not_found"],
        "an approved booking has both",
    ),
    (
        "ecobid.createItem",
        &["user_id_out_of_range"],
        "who has such an id cannot register, and is not found",
    ),
    (
        "ecobid.reserveItem",
        &["buyer_id_out_of_range"],
        "who has such an id cannot register, and is not found",
    ),
    (
        "ecobid.createAuction",
        &["seller_id_out_of_range"],
        "who has such an id has no item",
    ),
    (
        "ecobid.placeBid",
        &["leader_id_out_of_range", "user_id_out_of_range"],
        "who has such an id is not registered",
    ),
    (
        "ecobid.placeBid",
        &["bid_exists"],
        "each bid is higher than the last, and its amount is its id",
    ),
    (
        "ecobid.confirmReservation",
        &["item_not_reserved"],
        "a pending reservation holds its item",
    ),
    (
        "ecobid.completeReservation",
        &["item_not_confirmed"],
        "a confirmed reservation holds its item",
    ),
    (
        "ecobid.completeReservation",
        &["user_not_found"],
        "nobody who gave something goes",
    ),
    (
        "ecobid.cancelReservation",
        &["item_not_reserved_or_confirmed"],
        "what is open holds its item",
    ),
    (
        "ecobid.closeAuction",
        &["item_not_available"],
        "what is in an auction is not reserved",
    ),
    (
        "ecobid.cancelAuction",
        &["item_not_found"],
        "what is in an auction is not deleted",
    ),
    ("ecobid.rateUser", &["user_not_found"], "nobody who traded goes"),
    (
        "wardrobe.createItem",
        &["item_not_found", "activity_source_changed"],
        "the item is made in the same operation",
    ),
    (
        "wardrobe.createItem",
        &["idempotency_key_out_of_range"],
        "a key is as long as the attribute takes",
    ),
    (
        "wardrobe.shareItem",
        &["activity_source_changed"],
        "the item is changed in the same operation",
    ),
    (
        "wardrobe.shareItem",
        &["user_id_out_of_range"],
        "who has such an id has no item",
    ),
];

/// Refusals that some seeds reach and the usual one does not: of which write, and which.
pub const SELDOM: &[(&str, &str)] = &[
    ("todo.updateUser", "email_taken"),
    ("booking.cancelBooking", "actor_out_of_range"),
];
