//go:build linux

package installtest

import (
	"maps"
	"os"
	"strings"
)

// confined checks the user and the capabilities, as the kernel shows them, of the process of a unit.
func (s *system) confined(user, capabilities string) {
	s.t.Helper()
	pid := s.property("MainPID", "lnetd")
	status := s.must("cat", "/proc/"+pid+"/status")
	for _, set := range []string{"CapPrm", "CapEff", "CapBnd"} {
		if !strings.Contains(status, set+":\t"+capabilities+"\n") {
			s.t.Errorf("want %s %s:\n%s", set, capabilities, status)
		}
	}
	if got := strings.TrimSpace(s.must("stat", "--format=%U:%G", "/proc/"+pid)); got != user+":lnetd" {
		s.t.Errorf("the daemon runs as %s", got)
	}
}

// extended checks that each drop-in permits what it is for, and that with the first one, which changes
// the sandbox least, all modules run.
func (s *system) extended() {
	s.t.Helper()
	const gossip = "gossip:\n  cold_start: 1\n  nids: ['10.9.3.[1-2]@tcp']\nhandlers:\n"
	for _, test := range []struct {
		dropIn, user, capabilities string
		configuration              string
		check                      func()
	}{
		{"rdma", "lnetd", "0000000000001400", strings.ReplaceAll(everything, "DIR", "/var/lib/lnetd"), func() {
			s.pings("127.0.0.1@tcp", "127.0.0.1@o2ib")
			sockets := s.sockets()
			s.must("systemctl", "restart", "lnetd")
			if now := s.sockets(); len(sockets) != 3 || !maps.Equal(sockets, now) {
				s.t.Errorf("the sockets were %v, and are %v", sockets, now)
			}
			s.pings("127.0.0.1@tcp", "127.0.0.1@o2ib")
		}},
		{"capture", "lnetd", "0000000000003400", "networks: tcp(eth0)\ncapture: /var/log/lnetd/lnet.pcapng\n" + gossip + "  record: {on: [gossip], run: [/bin/sh, -c, 'lnetdump -i eth0 | head -n 1'], timeout: 2m}\n", func() {
			s.contains("10.9.3.2", "gossipctl", "handlers", "test", "record") // the handler has run lnetdump, which has shown a message of gossip
			s.pings("10.9.3.2@tcp")
			s.must("systemctl", "stop", "lnetd")
			s.contains("10.9.3.2@tcp", "lnetdump", "/var/log/lnetd/lnet.pcapng")
		}},
		{"actions", "root", "00000000000004eb", "networks: tcp(eth0)\n" + gossip + "  who: {on: [gossip], run: [/usr/bin/id, -un], user: nobody}\n  writes: {on: [gossip], run: [/bin/sh, -c, 'echo written > /etc/written']}\n", func() {
			s.contains("nobody", "gossipctl", "handlers", "test", "who")
			s.contains("exit 0", "gossipctl", "handlers", "test", "writes")
			s.contains("written", "cat", "/etc/written")
			s.must("rm", "/etc/written")
			s.must("systemctl", "reload", "lnetd")
		}},
	} {
		s.configure("", test.configuration)
		file := dropIns + "/" + test.dropIn + ".conf"
		s.must("install", "-D", "-m", "644", "/usr/share/ulnet/systemd/"+test.dropIn+".conf", "/"+file)
		s.must("systemctl", "daemon-reload")
		s.must("systemctl", "restart", "lnetd")
		s.confined(test.user, test.capabilities)
		test.check()
		if err := os.Remove(s.path(file)); err != nil {
			s.t.Error(err)
		}
	}
	s.configure("", "networks: tcp(eth0)\n"+metrics)
	if err := os.Remove(s.path(dropIns)); err != nil {
		s.t.Error(err)
	}
	s.must("systemctl", "daemon-reload")
	s.must("systemctl", "restart", "lnetd")
	s.confined("lnetd", "0000000000000400")
}
