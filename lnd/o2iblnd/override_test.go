package o2iblnd

import (
	"net/netip"
	"reflect"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/verbs/softroce"
	"ulnet/lnd/verbs/softroce/emulator"
)

// TestOverriddenTunables: a value of a tunable means the same for one NI as for all NIs of the driver.
func TestOverriddenTunables(t *testing.T) {
	var reference Config
	for _, tunable := range reference.Tunables() {
		values := []int{tunable.Least, tunable.Most, tunable.Default}
		if tunable.Among != nil {
			values = tunable.Among
		}
		for _, n := range values {
			byName := map[string]int{tunable.Name: n}
			var all Config
			if err := lnd.Override(all.Tunables(), byName); err != nil {
				if n == tunable.Default {
					continue // such as that of a flag: it is no valid value itself
				}
				t.Fatal(err)
			}
			global, own := cfgOf(t, all, nil), cfgOf(t, Config{}, byName)
			if !reflect.DeepEqual(global, own) {
				t.Errorf("%s of %d: all NIs have %+v\none NI has %+v", tunable.Name, n, global, own)
			}
		}
	}
}

// TestNoRetries: retry counts of 0 for one NI reach the device as 0.
func TestNoRetries(t *testing.T) {
	cfg := cfgOf(t, Config{}, map[string]int{"retry_count": 0, "rnr_retry_count": 0})
	if uint8(cfg.RetryCount) != 0 || uint8(cfg.RNRRetryCount) != 0 {
		t.Errorf("retry counts of %d and %d", cfg.RetryCount, cfg.RNRRetryCount)
	}
}

// cfgOf returns the configuration of an NI of a driver with the configuration cfg. values are the tunables that the NI has
// for itself.
func cfgOf(t *testing.T, cfg Config, values map[string]int) Config {
	t.Helper()
	clock := emulator.NewClock()
	open := softroce.NewOpener(softroce.Options{Network: emulator.New(emulator.Config{Clock: clock})})
	ni := start(t, netip.MustParseAddr("10.0.0.1"), open, cfg, new(sink), func(c *lnd.Config) { c.Clock, c.LND = clock, values })
	defer shut(ni)
	own := ni.cfg
	own.Open = nil // reflect.DeepEqual compares no functions
	return own
}
