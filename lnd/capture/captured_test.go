package capture_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd/capture"
)

// captureDirs are the directories with captures of kernel nodes: those that are part of the
// repository (captures2 has routing, several rails and health), and a complete set, if it is
// beside the repository.
var captureDirs = []struct{ name, path string }{
	{"testdata", "testdata"},
	{"captures2", "testdata/captures2"},
	{"shared", "../../../shared/captures"},
	{"shared2", "../../../shared/captures2"},
}

// TestCaptured decodes captures of kernel nodes. It compares all counts with those of another
// parser, and the bytes of every record with those to which the record is encoded again.
func TestCaptured(t *testing.T) {
	for _, dir := range captureDirs {
		t.Run(dir.name, func(t *testing.T) {
			files, err := filepath.Glob(filepath.Join(dir.path, "tcp*.pcap*"))
			if err != nil || len(files) == 0 {
				t.Skipf("no captures in %s", dir.path)
			}
			expected := readExpected(t, filepath.Join(dir.path, "expected.json"))
			for _, file := range files {
				name := strings.TrimSuffix(filepath.Base(file), ".gz")
				want, ok := expected[name]
				if !ok {
					t.Errorf("%s is not in expected.json", file)
					continue
				}
				delete(expected, name)
				t.Run(name, func(t *testing.T) { compareCapture(t, file, want) })
			}
			for name := range expected {
				t.Errorf("expected.json names %s, which is not in %s", name, dir.path)
			}
		})
	}
}

func compareCapture(t *testing.T, file string, want object) {
	s := newSummary()
	packets, ours := decodeFile(t, file, func(r *capture.Record) {
		s.add(r)
		again, err := r.AppendBinary(nil)
		if r.Err == nil && (err != nil || !bytes.Equal(again, r.Raw)) {
			t.Errorf("%s at %d: encoded again (%v)\n got %x\nwant %x", r.Type(), r.Offset, err, again, r.Raw)
		}
		if r.Kind == capture.Lost || r.Kind == capture.MidStream {
			t.Errorf("kind %d at %d", r.Kind, r.Offset)
		}
	})
	s.packets, s.ours = packets, ours
	delete(want, "lst") // this package does not dissect LST, a protocol above LNet
	got := s.json()
	if want["note"] != nil { // for this capture, expected.json has only some of the counts
		delete(want, "note")
		delete(want, "hello_version")
		got = common(got, want)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// common returns the part of got whose keys want has.
func common(got, want object) object {
	out := object{}
	for k, w := range want {
		out[k] = got[k]
		if w, ok := w.(object); ok {
			out[k] = common(got[k].(object), w)
		}
	}
	return out
}

// decodeFile calls emit with every Record of a capture and its whole payload.
func decodeFile(t testing.TB, file string, emit func(*capture.Record)) (packets, ours int) {
	t.Helper()
	r, err := capture.NewReader(bytes.NewReader(readFile(t, file)))
	if err != nil {
		t.Fatal(err)
	}
	d := capture.NewDissector(capture.Options{KeepPayload: 1 << 20}, emit)
	for {
		p, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		packets++
		if d.Packet(p.Time, p.Link, p.Data) {
			ours++
		}
	}
	d.Close()
	return packets, ours
}

// readFile reads a file, which may be compressed.
func readFile(t testing.TB, file string) []byte {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(file, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func readExpected(t *testing.T, file string) map[string]object {
	t.Helper()
	return readExpectedOf(t, file, "tcp")
}

// readExpectedOf returns the expected counts of the captures whose names begin with prefix.
func readExpectedOf(t *testing.T, file, prefix string) map[string]object {
	t.Helper()
	if _, err := os.Stat(file); err != nil {
		file += ".gz"
	}
	b := readFile(t, file)
	var doc struct{ Files map[string]object }
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	for name := range doc.Files {
		if !strings.HasPrefix(name, prefix) {
			delete(doc.Files, name)
		}
	}
	return doc.Files
}
