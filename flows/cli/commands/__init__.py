"""The commands of `docmill`, in modules named like them."""
