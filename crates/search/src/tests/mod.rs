//! What is found, against going through all rows; kills; what is left in files.

mod dynamodb;
mod erasure;
mod found;
mod kills;
mod places;
mod ranking;
mod speed;
mod support;
