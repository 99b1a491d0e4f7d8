"""The commands of `docmill`, in modules named after them."""
