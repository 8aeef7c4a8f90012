//! Adapters of the model port.
