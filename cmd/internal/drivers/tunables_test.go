package drivers_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/drivers"
	"ulnet/lnd"
	"ulnet/lnd/socklnd"
	"ulnet/lnet/nid"
	"ulnet/portals/node"
)

// TestEachTunableReachesItsDriver: a file that sets one tunable of a driver changes this one in the configuration
// that the driver gets, and no other of any driver.
func TestEachTunableReachesItsDriver(t *testing.T) {
	byDefault := reached(t, "")
	for _, d := range new(drivers.Set).All() {
		for _, tunable := range d.Tunables() {
			n := otherValue(tunable, nil)
			text, want := partOf(d, map[string]int{tunable.Name: n}), maps.Clone(byDefault)
			want[d.Name()+"."+tunable.Name] = inForce(tunable, n)
			if diff := cmp.Diff(want, reached(t, text)); diff != "" {
				t.Errorf("%s with %q (-want +got):\n%s", d.Name(), text, diff)
			}
			if n == tunable.Default {
				t.Errorf("%s.%s: no valid value but the default was found", d.Name(), tunable.Name)
			}
		}
	}
}

// TestAllTunablesReachTheirDrivers: a file may set all tunables of all drivers, each to a value of its own.
func TestAllTunablesReachTheirDrivers(t *testing.T) {
	top, sections, want, used := "", "", map[string]any{}, map[int]bool{}
	for _, d := range new(drivers.Set).All() {
		values := map[string]int{}
		for _, tunable := range d.Tunables() {
			n := otherValue(tunable, used)
			values[tunable.Name], used[n] = n, true
			want[d.Name()+"."+tunable.Name] = inForce(tunable, n)
		}
		if d.Section() == "" {
			top += partOf(d, values)
		} else {
			sections += partOf(d, values)
		}
	}
	if diff := cmp.Diff(want, reached(t, top+sections)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestTunablesOfDriver: the tunables of a driver that a node gets in Config.Drivers are found by its method Config.
func TestTunablesOfDriver(t *testing.T) {
	made, err := socklnd.New(socklnd.Config{KeepaliveCount: 7})
	if err != nil {
		t.Fatal(err)
	}
	c := made.Config()
	if diff := cmp.Diff(lnd.InForce(c.Tunables()), lnd.InForce(tunablesOf(t, made, new(drivers.TCP)))); diff != "" || c.KeepaliveCount != 7 {
		t.Errorf("keepalive_count %d (-want +got):\n%s", c.KeepaliveCount, diff)
	}
}

// TestDefaultsReplaceNoValues: a value that a user sets, such as 0 or no, is not taken for one that is not set,
// in whose place the driver uses its default.
func TestDefaultsReplaceNoValues(t *testing.T) {
	for _, d := range new(drivers.Set).All() {
		list := d.Tunables()
		for _, tunable := range list {
			for _, n := range slices.Compact([]int{tunable.Least, 0, tunable.Most}) {
				if !valid(tunable, n) {
					continue
				}
				tunable.Set(n)
				set := lnd.InForce(list)[tunable.Name]
				lnd.SetDefaults(list)
				if got := lnd.InForce(list)[tunable.Name]; got != set {
					t.Errorf("%s.%s: %d becomes the default, %v; see lnd.NumberOrNone, lnd.SpanOrNone and lnd.Not", d.Name(), tunable.Name, n, got)
				}
			}
		}
	}
}

// partOf returns the part of a file that sets tunables of a driver: lines at the top level, or a section.
func partOf(d drivers.Driver, values map[string]int) (text string) {
	indent := ""
	if d.Section() != "" {
		text, indent = d.Section()+":\n", "  "
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		text += fmt.Sprintf("%s%s: %d\n", indent, name, values[name])
	}
	return text
}

// otherValue returns a valid value of a tunable that is not its default and, unless there are too few
// values, not in used. It is near the default, because other tunables may bound it, as max_reconnectms
// bounds min_reconnectms. It is positive if possible, because 0 and -1 may be other names of the default.
func otherValue(tunable lnd.Tunable, used map[int]bool) int {
	if tunable.Flag {
		return 1 - tunable.Default
	}
	list := slices.Clone(tunable.Among)
	for i := 1; i <= 100 && tunable.Among == nil; i++ {
		list = append(list, tunable.Default+i, tunable.Default-i)
	}
	list = slices.DeleteFunc(list, func(n int) bool { return n <= 0 || n == tunable.Default || !valid(tunable, n) })
	if i := slices.IndexFunc(list, func(n int) bool { return !used[n] }); i >= 0 {
		return list[i]
	}
	return append(list, 0)[0]
}

// valid reports whether users may set a tunable to n.
func valid(tunable lnd.Tunable, n int) bool {
	if tunable.Among != nil {
		return slices.Contains(tunable.Among, n)
	}
	return tunable.Least <= n && n <= tunable.Most
}

// inForce returns a value of a tunable as lnd.InForce does.
func inForce(tunable lnd.Tunable, n int) any {
	if tunable.Flag {
		return n == 1
	}
	return n
}

// reached returns the values in force in the configurations that the drivers get from a file. They are
// those of the lists of the drivers themselves, so a new tunable or driver is tested as well.
func reached(t *testing.T, text string) map[string]any {
	t.Helper()
	c, err := config.Parse("f", []byte(text))
	if err != nil {
		t.Fatalf("%v, in:\n%s", err, text)
	}
	to, all := added(c), map[string]any{}
	for _, d := range c.All() {
		for name, value := range lnd.InForce(tunablesIn(t, &to, d)) {
			all[d.Name()+"."+name] = value
		}
	}
	return all
}

// tunablesIn returns the tunables of a driver in the configuration of a node.
func tunablesIn(t *testing.T, to *node.Config, d drivers.Driver) []lnd.Tunable {
	t.Helper()
	switch d.Type() {
	case nid.TCP:
		return to.TCP.Tunables()
	case nid.O2IB:
		return to.O2IB.Tunables()
	}
	i := slices.IndexFunc(to.Drivers, func(other lnd.Driver) bool { return other.Type() == d.Type() })
	if i < 0 {
		t.Fatalf("%s does not add itself", d.Name())
	}
	return tunablesOf(t, to.Drivers[i], d)
}

// tunablesOf returns the tunables of a driver, which has them in what its method Config returns.
func tunablesOf(t *testing.T, made lnd.Driver, d drivers.Driver) []lnd.Tunable {
	t.Helper()
	if len(d.Tunables()) == 0 {
		return nil
	}
	method := reflect.ValueOf(made).MethodByName("Config")
	if !method.IsValid() {
		t.Fatalf("the driver %s has no method Config", d.Name())
	}
	result := method.Call(nil)[0]
	c := reflect.New(result.Type())
	c.Elem().Set(result)
	has, ok := c.Interface().(interface{ Tunables() []lnd.Tunable })
	if !ok {
		t.Fatalf("the Config of %s has no method Tunables", d.Name())
	}
	return has.Tunables()
}
