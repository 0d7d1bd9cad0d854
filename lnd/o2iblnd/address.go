package o2iblnd

import (
	"errors"
	"net/netip"

	"ulnet/lnd/internal/shell"
)

// chooser finds the address of an NI. It accepts only IPv4 addresses.
var chooser = shell.Chooser{
	Driver: "o2iblnd",
	Refuse: refuseAddr,
	None:   errors.New("it has no IPv4 address, which a NID of o2ib needs: give it one, or name another interface"),
}

var errNot4 = errors.New("NIDs of o2ib are IPv4 addresses alone")

func refuseAddr(a netip.Addr) error {
	if a.Is4() {
		return nil
	}
	return errNot4
}
