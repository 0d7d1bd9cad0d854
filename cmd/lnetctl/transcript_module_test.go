//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"

	"ulnet/cmd/internal/transcript"
)

// modules runs a preparation that loads or unloads modules of the kernel, and reports whether e
// is one. In place of rmmod it ends lnetd, and in place of modprobe it starts lnetd with the
// same options as a file in /etc/modprobe.d. Like modprobe, that does not configure LNet.
func (s *stage) modules(e transcript.Entry) bool {
	s.T.Helper()
	if !strings.Contains(e.Command, "modprobe ") {
		return false
	}
	unloads, options, _ := strings.Cut(e.Command, "modprobe lnet")
	if strings.Contains(unloads, "rmmod lnet") {
		_ = s.Stop(e.Host) // an error is ignored: the daemon's log says how the daemon ended
	}
	s.load(e.Host, strings.TrimSpace(options))
	return true
}

// load starts the daemon of a host with options of the module lnet, and takes LNet down. If the
// daemon refuses the options, it ends.
func (s *stage) load(host, options string) {
	s.T.Helper()
	file := filepath.Join(s.Dir, host+".conf")
	if err := os.WriteFile(file, []byte("options lnet "+options+"\n"), 0o600); err != nil {
		s.T.Fatal(err)
	}
	s.Launch(host, "--modprobe", file)
	if s.Answers(host) {
		s.lnetctl(host, "lnetctl lnet unconfigure")
	}
}
