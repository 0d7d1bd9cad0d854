package wire

import "fmt"

// Status is the status of a reply: 0, or a positive errno of Linux.
type Status uint32

// The statuses that kernel nodes send.
const (
	OK      Status = 0
	EPERM   Status = 1  // the batch cannot be stopped
	ENOENT  Status = 2  // no such batch or test, or a TEST of another session
	ESRCH   Status = 3  // the node has no session, or another one
	EIO     Status = 5  // the bulk data could not be moved
	ENOMEM  Status = 12 // the node has no room for the batch or test
	EBUSY   Status = 16 // the node has another session, or the batch runs
	EEXIST  Status = 17 // the node has joined already
	EINVAL  Status = 22 // a field of the request is out of its bounds
	EPROTO  Status = 71 // another version, or other features than those of the session
	EBADMSG Status = 74 // the bulk data is not what its check expects
)

var statusNames = map[Status]string{
	OK: "ok", EPERM: "EPERM", ENOENT: "ENOENT", ESRCH: "ESRCH", EIO: "EIO", ENOMEM: "ENOMEM", EBUSY: "EBUSY", EEXIST: "EEXIST",
	EINVAL: "EINVAL", EPROTO: "EPROTO", EBADMSG: "EBADMSG",
}

// String returns "ok", the name of the errno, or "errno 7".
func (s Status) String() string {
	if name, ok := statusNames[s]; ok {
		return name
	}
	return fmt.Sprintf("errno %d", uint32(s))
}
