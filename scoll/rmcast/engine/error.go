package engine

// Error says what is wrong, and what the user can do.
type Error struct {
	Why string // text of the error, in lower case and without a prefix
}

func (e *Error) Error() string { return "rmcast: " + e.Why }

func wrong(why string) error { return &Error{why} }
