package engine

// Error says what is wrong, and what the user can do.
type Error struct {
	Why string // lower case, without a prefix
}

func (e *Error) Error() string { return "rmcast: " + e.Why }

func wrong(why string) error { return &Error{why} }
