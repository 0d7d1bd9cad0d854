package drivers

import (
	"cmp"
	"slices"
	"strings"
	"syscall"

	"ulnet/cmd/internal/cli"
	"ulnet/lnd"
	"ulnet/lnet/nid"
)

// Own translates the tunables of one NI from the names that LNet's tools use to those of the
// driver. It leaves out tunables that have a meaning only in kernels, and returns their names as
// ignored. EINVAL: the driver has no such tunable.
func Own(d Driver, shown map[string]int) (own map[string]int, ignored []string, err error) {
	names, listed := make(map[string]string), []string(nil)
	for _, word := range strings.Fields(d.Shown()) {
		name, as, other := strings.Cut(word, "=")
		if !other {
			as = name
		}
		names[as], listed = name, append(listed, as)
	}
	has := d.Tunables()
	own = make(map[string]int, len(shown))
	for as, n := range shown {
		name, ok := names[as]
		switch {
		case !ok:
			return nil, nil, cli.Errnof(syscall.EINVAL, "%s has no tunable %q for an interface: it has %s", d.Name(), as, cmp.Or(strings.Join(listed, ", "), "none"))
		case !slices.ContainsFunc(has, func(t lnd.Tunable) bool { return t.Name == name }):
			ignored = append(ignored, as)
		default:
			own[name] = n
		}
	}
	slices.Sort(ignored)
	return own, ignored, nil
}

// Shows reports whether LNet's tools show a tunable under that name for NIs on networks of a type.
func Shows(t nid.NetType, as string) bool {
	for _, word := range strings.Fields(new(Set).Of(t).Shown()) {
		if name, other, _ := strings.Cut(word, "="); as == cmp.Or(other, name) {
			return true
		}
	}
	return false
}

// OwnTimeout returns the timeout that the configuration sets for a driver, in seconds, and the
// key that sets it. 0: the timeout follows that of LNet.
func OwnTimeout(d Driver) (key string, seconds int) {
	for _, word := range strings.Fields(d.Shown()) {
		if name, as, other := strings.Cut(word, "="); as == "timeout" || !other && name == "timeout" {
			key = name
		}
	}
	seconds, _ = lnd.InForce(d.Tunables())[key].(int)
	if d.Section() != "" {
		key = d.Section() + "." + key
	}
	return key, seconds
}
