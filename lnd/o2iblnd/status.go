package o2iblnd

import "syscall"

// The statuses of PUT_NAK, PUT_DONE and GET_DONE are negative errnos of Linux,
// whatever system this is.
const (
	statusNoMemory int32 = -12  // ENOMEM
	statusFault    int32 = -14  // EFAULT
	statusNoData   int32 = -61  // ENODATA: nothing matches a GET
	statusTooLong  int32 = -90  // EMSGSIZE
	statusTimedOut int32 = -110 // ETIMEDOUT
)

// errnoOf returns the errno for a status that reports an error.
func errnoOf(status int32) syscall.Errno {
	switch {
	case status == statusNoMemory:
		return syscall.ENOMEM
	case status == statusNoData:
		return syscall.ENODATA
	case status == statusTooLong:
		return syscall.EMSGSIZE
	case status == statusTimedOut:
		return syscall.ETIMEDOUT
	case status > -4096: // other errnos of Linux: almost all systems have the same numbers for them, or they have no meaning here
		return syscall.Errno(-status)
	}
	return syscall.EIO
}
