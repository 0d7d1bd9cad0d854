package wire

import (
	"encoding"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ulnet/lnet/nid"
)

// The types that JSON has as text.
var (
	_ encoding.TextUnmarshaler = (*Session)(nil)
	_ encoding.TextUnmarshaler = (*Service)(nil)
	_ encoding.TextUnmarshaler = (*BRWOp)(nil)
	_ encoding.TextUnmarshaler = (*Check)(nil)
)

// MarshalText returns the text of String.
func (s Session) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText parses the text of String; any other text is an error.
func (s *Session) UnmarshalText(text []byte) error {
	if string(text) == NoSession().String() {
		*s = NoSession()
		return nil
	}
	stamp, id, _ := strings.Cut(string(text), "@")
	n, err := strconv.ParseInt(stamp, 10, 64)
	if err == nil {
		var console nid.NID
		if console, err = nid.Parse(id); err == nil {
			*s = Session{console, n}
			return nil
		}
	}
	return fmt.Errorf("selftest: %q is no session: use a stamp and a NID, as 598523@10.77.0.10@tcp, or none", text)
}

// MarshalText returns the name of the service, or the number of an unknown one.
func (s Service) MarshalText() ([]byte, error) {
	if _, known := services[s]; !known {
		return strconv.AppendUint(nil, uint64(s), 10), nil
	}
	return []byte(s.String()), nil
}

// UnmarshalText parses a name or a number; any other text is an error.
func (s *Service) UnmarshalText(text []byte) error {
	for known, info := range services { // any order: each name is there once
		if info.name == string(text) {
			*s = known
			return nil
		}
	}
	n, err := number(text, "service", "brw or ping")
	*s = Service(n)
	return err
}

// MarshalText returns "read" or "write", the number of another operation, and nothing for 0, which
// PING tests have.
func (o BRWOp) MarshalText() ([]byte, error) { return textOf(uint32(o), opNames[:]), nil }

// UnmarshalText parses what MarshalText returns; any other text is an error.
func (o *BRWOp) UnmarshalText(text []byte) error {
	n, err := numberOf(text, opNames[:], "operation", "read or write")
	*o = BRWOp(n)
	return err
}

var opNames = [...]string{Read: "read", Write: "write"}

// MarshalText returns the name of the check, or its number if it has no name, and nothing for 0, which PING tests
// have.
func (k Check) MarshalText() ([]byte, error) { return textOf(uint32(k), checkNames[:]), nil }

// UnmarshalText parses what MarshalText returns; any other text is an error.
func (k *Check) UnmarshalText(text []byte) error {
	n, err := numberOf(text, checkNames[:], "check", "none, simple or full")
	*k = Check(n)
	return err
}

// textOf returns the name of a number, which is empty for 0, or its digits.
func textOf(n uint32, names []string) []byte {
	if int(n) < len(names) {
		return []byte(names[n])
	}
	return strconv.AppendUint(nil, uint64(n), 10)
}

// numberOf returns the number that a name or digits stand for.
func numberOf(text []byte, names []string, what, use string) (uint32, error) {
	if n := slices.Index(names, string(text)); n >= 0 {
		return uint32(n), nil
	}
	return number(text, what, use)
}

// number parses digits.
func number(text []byte, what, use string) (uint32, error) {
	n, err := strconv.ParseUint(string(text), 10, 32)
	if err != nil {
		return 0, fmt.Errorf("selftest: %q is no %s: use %s", text, what, use)
	}
	return uint32(n), nil
}
