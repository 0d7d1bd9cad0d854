package socklnd

import (
	"errors"
	"net/netip"

	"ulnet/lnd/internal/shell"
)

// chooser finds the address of an NI. It takes IPv4 addresses, and IPv6 addresses that are not
// link-local.
var chooser = shell.Chooser{
	Driver: "socklnd",
	Refuse: refuseAddr,
	None:   errors.New("no IPv4 address, and no IPv6 address but of the link"),
}

var errLinkAddr = errors.New("an address of the link is no NID")

// refuseAddr refuses link-local IPv6 addresses: to reach one takes the interface, too, which
// a NID does not contain.
func refuseAddr(a netip.Addr) error {
	if a.Is4() || a.Zone() == "" && !a.IsLinkLocalUnicast() {
		return nil
	}
	return errLinkAddr
}
