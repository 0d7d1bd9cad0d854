package nid

import (
	"fmt"
	"strconv"
	"strings"
)

// PID tells users of LNet on one node apart (lnet_pid_t). It is no process id
// of an operating system.
type PID uint32

// Process ids with a fixed meaning.
const (
	LustrePID PID = 12345      // PID of kernels and daemons (LNET_PID_LUSTRE)
	PIDAny    PID = 0xFFFFFFFF // wildcard PID (LNET_PID_ANY)
	UserPID   PID = 0x80000000 // flag of peers that use an unprivileged port (LNET_PID_USERFLAG)
)

const pidAnyText = "LNET_PID_ANY"

// String returns "12345", "U51234" for a pid with UserPID set, or
// "LNET_PID_ANY".
func (p PID) String() string { return string(p.AppendTo(nil)) }

// AppendTo appends the text of String.
func (p PID) AppendTo(b []byte) []byte {
	if p == PIDAny {
		return append(b, pidAnyText...)
	}
	if p&UserPID != 0 {
		b = append(b, 'U')
	}
	return strconv.AppendUint(b, uint64(p&^UserPID), 10)
}

func parsePID(s string) (PID, error) {
	if s == pidAnyText {
		return PIDAny, nil
	}
	s, user := strings.CutPrefix(s, "U")
	bits := 32
	if user {
		bits = 31
	}
	v, err := strconv.ParseUint(s, 10, bits)
	if err != nil {
		return 0, errPID
	}
	if user {
		v |= uint64(UserPID)
	}
	return PID(v), nil
}

// ProcessID names one user of LNet on one node (struct lnet_processid).
type ProcessID struct {
	NID NID // NID of the process's node
	PID PID // PID of the process; LustrePID for the kernel
}

// ParseProcessID parses "12345-10.0.0.1@tcp" (libcfs_strid). A text without a
// '-' is a NID and means LustrePID. The error wraps errPID or one of Parse's.
func ParseProcessID(s string) (ProcessID, error) {
	id := ProcessID{PID: LustrePID}
	pid, nid, found := strings.Cut(s, "-")
	if !found {
		nid = s
	}
	var err error
	if found {
		if id.PID, err = parsePID(pid); err != nil {
			return ProcessID{}, fmt.Errorf("process id %q: %w", s, err)
		}
	}
	if id.NID, err = parse(nid); err != nil {
		return ProcessID{}, fmt.Errorf("process id %q: %w", s, err)
	}
	return id, nil
}

// IsValid reports whether the NID of id is valid; every PID is.
func (id ProcessID) IsValid() bool { return id.NID.IsValid() }

// Compare orders process ids by NID, then by PID.
func (id ProcessID) Compare(other ProcessID) int {
	if c := id.NID.Compare(other.NID); c != 0 {
		return c
	}
	if id.PID == other.PID {
		return 0
	}
	return compare(uint32(id.PID), uint32(other.PID))
}

// String returns the text, such as "12345-10.0.0.1@tcp".
func (id ProcessID) String() string { return string(id.AppendTo(make([]byte, 0, 64))) }

// AppendTo appends the text of String.
func (id ProcessID) AppendTo(b []byte) []byte {
	b = append(id.PID.AppendTo(b), '-')
	return id.NID.AppendTo(b)
}

// MarshalText returns what String returns, and nothing for the zero ProcessID.
func (id ProcessID) MarshalText() ([]byte, error) { return marshalText(id) }

// UnmarshalText is ParseProcessID; an empty text gives the zero ProcessID.
func (id *ProcessID) UnmarshalText(text []byte) error { return unmarshalText(id, text, ParseProcessID) }
