package bugreport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"time"

	"ulnet/cmd/internal/doctor"
)

// systemFiles are the files of the system that a report has.
var systemFiles = strings.Fields(`/etc/os-release /proc/version /proc/uptime /proc/loadavg /proc/meminfo /proc/stat /proc/softirqs
	/proc/pressure/cpu /proc/pressure/memory /proc/pressure/io
	/proc/self/net/dev /proc/self/net/route /proc/self/net/ipv6_route /proc/self/net/arp /proc/self/net/if_inet6 /proc/self/net/snmp /proc/self/net/snmp6
	/proc/self/net/netstat /proc/self/net/sockstat /proc/self/net/sockstat6 /proc/self/net/softnet_stat /proc/self/net/igmp /proc/self/net/protocols`)

// sysctls are the kernel settings that a report contains, in addition to those of each interface.
var sysctls = strings.Fields(`kernel.osrelease kernel.hostname net.core.rmem_max net.core.wmem_max net.core.rmem_default net.core.wmem_default
	net.core.netdev_max_backlog net.core.somaxconn net.core.optmem_max net.core.busy_poll net.core.busy_read net.core.default_qdisc
	net.ipv4.tcp_rmem net.ipv4.tcp_wmem net.ipv4.tcp_mem net.ipv4.udp_mem net.ipv4.tcp_congestion_control net.ipv4.tcp_mtu_probing net.ipv4.tcp_timestamps
	net.ipv4.tcp_sack net.ipv4.tcp_window_scaling net.ipv4.tcp_slow_start_after_idle net.ipv4.tcp_keepalive_time net.ipv4.ip_local_port_range
	net.ipv4.ip_local_reserved_ports net.ipv4.ip_unprivileged_port_start net.ipv4.ping_group_range net.ipv4.igmp_max_memberships net.ipv4.ip_forward
	net.ipv4.conf.all.rp_filter net.ipv4.conf.all.arp_ignore net.ipv4.conf.all.arp_announce`)

// commands are the programs whose output a report contains. They change nothing.
var commands = []struct{ file, line string }{
	{"ip-addr.txt", "ip -s -d addr show"},
	{"ip-route.txt", "ip route show table all"},
	{"ip-rule.txt", "ip rule show"},
	{"ip-neigh.txt", "ip neigh show"},
	{"sockets.txt", "ss -tinm"},
	{"listeners.txt", "ss -lntu"},
	{"nft.txt", "nft list ruleset"},
	{"clock.txt", "timedatectl show"},
}

// system adds what the host says of itself.
func (r *Report) system(ctx context.Context) {
	for _, path := range systemFiles {
		r.copy("system"+strings.Replace(path, "/proc/self/net", "/proc/net", 1), path)
	}
	r.settings()
	for _, c := range commands {
		words := strings.Fields(c.line)
		out, err := r.output(ctx, false, words[0], words[1:]...)
		if err != nil {
			r.lacks("system/"+c.file, err.Error())
		}
		if len(out) > 0 {
			r.add("system/"+c.file, out)
		}
	}
}

// settings adds the settings of the kernel, including those of each interface.
func (r *Report) settings() {
	var b bytes.Buffer
	names := sysctls
	all, err := net.Interfaces()
	if err != nil {
		r.lacks("system/interfaces", err.Error())
	}
	for _, i := range all {
		names = append(names, "net.ipv4.conf."+i.Name+".rp_filter", "net.ipv4.conf."+i.Name+".arp_ignore", "net.ipv4.conf."+i.Name+".accept_local")
	}
	for _, name := range names {
		v, err := doctor.System{}.Sysctl(name)
		if err != nil {
			v = "(" + err.Error() + ")"
		}
		fmt.Fprintf(&b, "%s = %s\n", name, v)
	}
	r.add("system/sysctl.txt", b.Bytes())
}

// log adds the end of the daemon's log: of the file at path, or of the journal if path is empty.
func (r *Report) log(ctx context.Context, path string) {
	const name = "log.txt"
	if path != "" {
		text, cut, err := tail(path)
		if err != nil {
			r.lacks(name, err.Error())
			return
		}
		r.addTail(name, text, cut)
		return
	}
	text, err := r.output(ctx, true, "journalctl", "--no-pager", "--quiet", "-o", "short-iso-precise", "-n", "5000", "_COMM=lnetd", "+", "SYSLOG_IDENTIFIER=lnetd")
	if err == nil && len(text) == 0 {
		err = errors.New("the journal has no line of lnetd for this user: run it as root, or name the file of the log with --log")
	}
	if err != nil {
		r.lacks(name, err.Error())
		return
	}
	r.addTail(name, text, len(text) == maxOutput)
}

// maxOutput bounds what is kept of the output of a program.
const maxOutput = 4 * maxFile

// kept is an io.Writer that keeps the beginning or the end of what is written to it. It has no method
// ReadFrom, which io.Copy would call instead of Write, so that the text would not be bounded.
type kept struct {
	text []byte
	end  bool
}

func (k *kept) Write(p []byte) (int, error) {
	if !k.end {
		k.text = append(k.text, p[:min(max(maxOutput-len(k.text), 0), len(p))]...)
		return len(p), nil
	}
	if k.text = append(k.text, p...); len(k.text) > 2*maxOutput {
		k.text = append(k.text[:0], k.text[len(k.text)-maxOutput:]...)
	}
	return len(p), nil
}

func (k *kept) last() []byte { return k.text[max(len(k.text)-maxOutput, 0):] }

// output runs a program and returns its output, or only the beginning or the end of a long one. It kills
// a program that runs longer than r.answer.
func (r *Report) output(ctx context.Context, end bool, name string, args ...string) ([]byte, error) {
	path, err := exec.LookPath(name)
	if err != nil { // /usr/sbin is not in the PATH of all users
		if path, err = exec.LookPath("/usr/sbin/" + name); err != nil {
			return nil, fmt.Errorf("%s is not installed", name)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, r.answer)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.WaitDelay = time.Second
	stdout, stderr := kept{end: end}, kept{}
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err = cmd.Run(); err != nil {
		err = fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(stderr.text[:min(len(stderr.text), 200)]))
	}
	return stdout.last(), err
}
