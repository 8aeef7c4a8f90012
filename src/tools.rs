//! The built-in tools, tools from functions and tools from commands.
