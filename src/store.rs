//! Adapters of the store port and the stored form of records.
