package portals

import (
	"errors"
	"slices"
	"syscall"
)

// localErrors are the errors whose reason lies at this host alone.
var localErrors = []error{
	syscall.ENETDOWN, syscall.ENETUNREACH, syscall.EADDRNOTAVAIL, syscall.ENOMEM, syscall.ENOBUFS, syscall.EMFILE, syscall.ENFILE,
	syscall.EACCES, syscall.EPERM, syscall.ECANCELED, syscall.ESHUTDOWN,
}

// LocalFault reports whether the error of an event says something about this host alone, such
// as lack of memory, and nothing about the peer.
func LocalFault(err error) bool {
	return slices.ContainsFunc(localErrors, func(local error) bool { return errors.Is(err, local) })
}
