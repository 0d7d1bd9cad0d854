//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
)

// modules runs a preparation that loads or unloads modules of the kernel, and reports whether e
// is one. In place of rmmod it ends lnetd, and in place of modprobe it starts lnetd with the
// same options as a file in /etc/modprobe.d. Like modprobe, that does not configure LNet.
func (s *stage) modules(e entry) bool {
	s.t.Helper()
	if !strings.Contains(e.command, "modprobe ") {
		return false
	}
	unloads, options, _ := strings.Cut(e.command, "modprobe lnet")
	if strings.Contains(unloads, "rmmod lnet") {
		s.unload(e.host)
	}
	s.load(e.host, strings.TrimSpace(options))
	return true
}

// load starts the daemon of a host with options of the module lnet, and takes LNet down. If the
// daemon refuses the options, it ends.
func (s *stage) load(host, options string) {
	s.t.Helper()
	file := filepath.Join(s.dir, host+".conf")
	if err := os.WriteFile(file, []byte("options lnet "+options+"\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.launch(host, "--modprobe", file)
	if s.answers(host) {
		s.lnetctl(host, "lnetctl lnet unconfigure")
	}
}

// unload ends the daemon of a host, if one runs.
func (s *stage) unload(host string) {
	d := s.daemons[host]
	if d == nil {
		return
	}
	delete(s.daemons, host)
	_ = d.Signal(syscall.SIGTERM) // an error means that it has ended already
	<-d.ended
}

// answers waits until the daemon of a host answers, or has ended.
func (s *stage) answers(host string) bool {
	s.t.Helper()
	client := control.NewClient(s.socket(host))
	limit := time.After(30 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := node.OpStatus.Call(s.t.Context(), client, control.None{}); err == nil {
			return true
		}
		select {
		case <-tick.C:
		case <-s.daemons[host].ended:
			delete(s.daemons, host)
			return false
		case <-limit:
			s.t.Fatalf("lnetd of %s does not answer\n%s", host, s.log(host))
		}
	}
}

// log returns what the daemon of a host has logged.
func (s *stage) log(host string) string {
	text, err := os.ReadFile(filepath.Join(s.dir, host+".log"))
	if err != nil {
		return fmt.Sprint(err)
	}
	return string(text)
}
