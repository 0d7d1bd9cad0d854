package main

import (
	"net"
	"strings"
)

// notify tells systemd about the state of the service (sd_notify). An empty
// address means that nobody wants to know.
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
