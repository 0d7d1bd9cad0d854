package engine

// Error says what cannot be done, and what to do.
type Error struct{ Why string }

func (e *Error) Error() string { return "rmcast: " + e.Why }

func wrong(why string) error { return &Error{why} }
