package tree

import (
	"fmt"
	"os"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"ulnet/lnd/lndtest/effort"
)

var peakLine = regexp.MustCompile(`VmHWM:\s+([0-9]+) kB`)

// peak returns the maximum of the memory that the process has used since forgetPeak, in bytes.
func peak(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	kib, err := strconv.Atoi(string(peakLine.FindSubmatch(text)[1]))
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// forgetPeak makes peak start again from the memory in use now, which it returns.
func forgetPeak(t *testing.T) int {
	t.Helper()
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
	return peak(t)
}

// TestLargeFile: a file of 1.25 MiB is read in bounded memory, 64 MiB plus 16 times the size of the text. A long
// run of the test reads a file of MaxSize instead. A text that is read as a whole takes a hundred times its size.
func TestLargeFile(t *testing.T) {
	// The test measures the memory in use, not garbage. With the default percentage of the garbage
	// collector, garbage would add as much again, and on a machine that is busy with other work
	// even more.
	defer debug.SetGCPercent(debug.SetGCPercent(25))
	size, few := effort.Of(5<<18, 5<<18, MaxSize), 4<<20
	peer := "- primary nid: 10.0.0.1@tcp\n  Multi-Rail: true\n  peer ni:\n  - nid: 10.0.0.1@tcp\n  - nid: 10.0.1.1@tcp1\n"
	for i, text := range []string{
		"peer:\n" + strings.Repeat(peer, size/len(peer)),
		"peer:\n" + strings.Repeat("- a:\n", few/5),
		"net:\n" + strings.Repeat("- net type: a\n", few/14),
	} {
		if i > 0 && !effort.Long() {
			break
		}
		before := forgetPeak(t)
		f, err := Read([]byte(text))
		more, most := peak(t)-before, 64<<20+16*len(text)
		t.Logf("%.20q: %d MiB more, %v", text, more>>20, err)
		if more > most {
			t.Errorf("%.20q: %d MiB more, want at most %d", text, more>>20, most>>20)
		}
		if want := size / len(peer); i == 0 && (err != nil || len(f.Sections[0].Items) != want) {
			t.Errorf("%v, want %d items", err, want)
		}
		if i == 2 && effort.Long() && fmt.Sprint(err) != "line 1: more than 262144 items" {
			t.Errorf("too many items: %v", err)
		}
	}
}
