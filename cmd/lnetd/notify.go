package main

import (
	"net"
	"strings"
)

// notify reports the state of the service to systemd (sd_notify). With an empty address,
// when systemd did not start the daemon, it does nothing.
func notify(address, state string) error {
	if address == "" {
		return nil
	}
	if rest, abstract := strings.CutPrefix(address, "@"); abstract {
		address = "\x00" + rest
	}
	c, err := net.Dial("unixgram", address)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Write([]byte(state))
	return err
}
