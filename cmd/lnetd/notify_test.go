package main

import (
	"net"
	"path/filepath"
	"testing"
)

func TestNotify(t *testing.T) {
	for _, test := range []struct{ name, bind, address string }{
		{"path", filepath.Join(t.TempDir(), "n"), ""},
		{"abstract", "@ulnet-" + t.Name(), "@ulnet-" + t.Name()},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: test.bind, Net: "unixgram"})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			address := test.address
			if address == "" {
				address = test.bind
			}
			if err := notify(address, "READY=1"); err != nil {
				t.Fatal(err)
			}
			got := make([]byte, 100)
			n, err := c.Read(got)
			if err != nil || string(got[:n]) != "READY=1" {
				t.Errorf("systemd read %q, %v", got[:n], err)
			}
		})
	}
	if err := notify("", "READY=1"); err != nil {
		t.Errorf("without systemd: %v", err)
	}
	if err := notify(filepath.Join(t.TempDir(), "nobody"), "READY=1"); err == nil {
		t.Error("nobody listens, and no error")
	}
}
