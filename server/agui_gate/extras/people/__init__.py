"""Who asks and who decides, where that is more than a name: signed tokens, roles, gates that know people."""
