package config_test

import (
	"strings"
	"testing"

	"ulnet/cmd/internal/config"
	"ulnet/lnd"
	"ulnet/lnd/o2iblnd"
	"ulnet/lnd/socklnd"
)

// TestTunablesOfDrivers: each tunable that a driver lists is a key of the file and of the
// reference. The reference has the driver's default, which is a valid value.
func TestTunablesOfDrivers(t *testing.T) {
	for _, test := range []struct {
		indent string
		list   []lnd.Tunable
		keys   []string
	}{
		{"", new(socklnd.Config).Tunables(), config.Keys()},
		{"  ", new(o2iblnd.Config).Tunables(), config.O2IBKeys()},
	} {
		keys := strings.Join(test.keys, " ") + " "
		for _, tunable := range test.list {
			if !strings.Contains(keys, tunable.Name+" ") {
				t.Errorf("the file has no key %s", tunable.Name)
			}
			if tunable.Default < tunable.Least || tunable.Default > tunable.Most {
				t.Errorf("%s: default %d, want %d to %d", tunable.Name, tunable.Default, tunable.Least, tunable.Most)
			}
			for line := range strings.SplitSeq(tunable.Text, "\n") {
				if tunable.Text != "" && !strings.Contains(config.Reference(), "\n"+test.indent+"# "+line+"\n") {
					t.Errorf("%s: the reference lacks %q", tunable.Name, line)
				}
			}
		}
	}
	for _, driver := range []string{"socklnd", "o2iblnd"} {
		if strings.Contains(config.Reference(), "# "+driver) {
			t.Errorf("the reference has no tunables of %s", driver)
		}
	}
}
