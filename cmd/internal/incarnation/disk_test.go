//go:build linux

package incarnation_test

import (
	"testing"
	"time"

	"ulnet/cmd/internal/incarnation"
	"ulnet/lnd/lndtest/smalldisk"
)

// TestDiskFull: a node that starts with a full or read-only disk cannot store the number of its
// incarnation. The stored number stays on the disk, the number of this start is higher, and the
// next start that can write stores its own.
func TestDiskFull(t *testing.T) {
	for _, trouble := range smalldisk.Troubles {
		t.Run(trouble.Name, func(t *testing.T) {
			disk := smalldisk.New(t)
			taken := uint64(0)
			incarnation := func(seconds int64) (n uint64, said string) {
				t.Helper()
				if err := disk.Do(func() error {
					n, said = next(disk.Dir, time.Unix(seconds, 0))
					taken++
					return incarnation.Keep(disk.Dir, "a", taken)
				}); (err != nil) != (said != "") {
					t.Errorf("the number of a protocol: %v, while that of the node says %q", err, said)
				}
				return n, said
			}
			for _, start := range []struct {
				bad     bool
				seconds int64
				want    uint64
			}{
				{true, 1000, 1000e9}, // the first start: there is no stored number yet, and none can be stored
				{false, 900, 900e9},  // lower than the previous number, which could not be stored and so is not known
				{true, 2000, 2000e9},
				{false, 800, 900e9 + 1},
				{true, 800, 900e9 + 2}, // nothing can be stored, but the stored number can be read
			} {
				if start.bad {
					trouble.Spoil(disk)
				}
				n, said := incarnation(start.seconds)
				if n != start.want {
					t.Errorf("at %d s: life %d, want %d", start.seconds, n, start.want)
				}
				if !start.bad {
					if said != "" {
						t.Errorf("at %d s: %s", start.seconds, said)
					}
					continue
				}
				trouble.Amend(disk)
				wantSaid(t, said, "level=WARN", "is not kept", "make room")
			}
		})
	}
}
