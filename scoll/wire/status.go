package wire

import (
	"errors"
	"fmt"
)

// Status is the result of a broadcast at a member: 0 or, as in LNet, an errno of Linux.
// Services may use any value. It implements error.
type Status uint16

// The values that the module uses.
const (
	OK         Status = 0
	EPERM      Status = 1    // the sender is not the parent, or not the root
	EIO        Status = 5    // an error that has no status of its own
	EAGAIN     Status = 11   // the function was called too early
	EBUSY      Status = 16   // too many requests or broadcasts under way
	EINVAL     Status = 22   // an argument is invalid
	EPROTO     Status = 71   // a message is not valid
	EMSGSIZE   Status = 90   // the data is larger than its buffer, or than a message
	ENOTSUP    Status = 95   // the service has no callback for the operation
	ETIMEDOUT  Status = 110  // no answer came in time
	EHOSTDOWN  Status = 112  // the node is dead according to discovery
	EALREADY   Status = 114  // the operation was done before
	ESTALE     Status = 116  // the membership, or the handle, is out of date
	ECANCELED  Status = 125  // the operation was aborted
	EKEY       Status = 129  // the message is not signed with a key of the receiver, or is signed although the receiver has no key
	ENOGROUP   Status = 1001 // this node does not know the group
	ENOSERVICE Status = 1002 // this node does not have the service
	EREBOOT    Status = 1003 // the request is from an earlier incarnation of the root
	EAHEAD     Status = 1004 // the request names an incarnation far above the wall clock of the member
	ENOTLISTED Status = 1005 // the node is not listed, and a limit for such nodes is reached
	ELOST      Status = 1006 // the member answered, but a service above it did not pass the answer on
)

// Limits of the node that refused a request, each with the setting that raises the limit.
// errors.Is(s, EBUSY) holds for the first four, and errors.Is(s, EMSGSIZE) for the last one: older
// versions sent EBUSY and EMSGSIZE.
const (
	EMAXACTIVE  Status = 1010 // Config.MaxActive, the bound of the requests at a time, was reached, or the sender's share of it
	EMAXGROUPS  Status = 1011 // Config.MaxGroups was reached, and all cached groups, or all of the sender's share, are in use
	EMAXLISTS   Status = 1012 // lists of members take all memory for such lists
	EMAXMEMORY  Status = 1013 // the service's limit on memory was reached
	EMAXMEMBERS Status = 1014 // the group has more nodes than Config.MaxMembers
)

var statusTexts = map[Status]string{
	OK: "ok", EPERM: "not the parent", EIO: "failed", EAGAIN: "too early", EBUSY: "busy", EINVAL: "invalid",
	EPROTO: "not understood", EMSGSIZE: "too large", ENOTSUP: "not supported", ETIMEDOUT: "timed out",
	EHOSTDOWN: "node is down", EALREADY: "done already", ESTALE: "out of date", ECANCELED: "canceled",
	ENOGROUP: "no such group", ENOSERVICE: "no such service", EREBOOT: "of an earlier incarnation of the root",
	EKEY: "not signed with the key", EAHEAD: "incarnation ahead of the clock", ENOTLISTED: "not on the list of nodes",
	ELOST:      "answered, but that was lost above it",
	EMAXACTIVE: "busy: max_active", EMAXGROUPS: "busy: max_groups", EMAXLISTS: "busy: lists of members",
	EMAXMEMORY: "busy: max_memory", EMAXMEMBERS: "too large: max_members",
}

// String returns the text of a status.
func (s Status) String() string {
	if text, ok := statusTexts[s]; ok {
		return text
	}
	return fmt.Sprintf("status %d", uint16(s))
}

// Error implements error.
func (s Status) Error() string { return s.String() }

// Is implements the rule of errors.Is for statuses that name a setting.
func (s Status) Is(target error) bool {
	switch s {
	case EMAXACTIVE, EMAXGROUPS, EMAXLISTS, EMAXMEMORY:
		return target == EBUSY
	case EMAXMEMBERS:
		return target == EMSGSIZE
	}
	return false
}

// StatusOf returns the status that an error wraps: EIO if it wraps none, OK for nil.
func StatusOf(err error) Status {
	if err == nil {
		return OK
	}
	if s, ok := errors.AsType[Status](err); ok && s != OK {
		return s
	}
	return EIO
}

// Err returns the status as an error, nil for OK.
func (s Status) Err() error {
	if s == OK {
		return nil
	}
	return s
}
