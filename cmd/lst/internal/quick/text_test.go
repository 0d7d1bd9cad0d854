package quick

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// sampled returns a result of two clients and the given number of servers, one of which is lost.
func sampled(servers int) *Result {
	r := &Result{Service: "brw", Op: "read", Size: 64 << 10, Concurrency: 4, Rounds: servers, Round: 2 * time.Second, index: map[pair]int{}}
	for i := range servers {
		r.To = append(r.To, fmt.Sprintf("10.0.0.%d@tcp", 10+i))
	}
	r.From = []string{"10.0.0.1@tcp", "10.0.0.2@tcp"}
	var pairs []Pair
	for i := range r.From {
		for j := range servers {
			if i == 0 && j == 0 {
				continue // left out, as if the client and the server were the same node
			}
			rate := float64(1000*(i+1) + 16*j)
			pairs = append(pairs, Pair{
				From: r.From[i], To: r.To[j], RPCs: uint64(2 * rate), Rate: rate, Bandwidth: rate * float64(r.Size), pair: pair{i, j},
				Latency: Latency{P50: 1234567, P90: 2345678, P99: 34567890, Max: time.Second},
			})
		}
	}
	pairs[len(pairs)-1] = Pair{From: r.From[1], To: r.To[servers-1], Failed: `stat: no answer <"&`, pair: pair{1, servers - 1}}
	pairs[0].Errors = 3
	r.add(pairs)
	return r
}

// TestText: the matrices have a row for each client, and the summary names what was slow or failed.
func TestText(t *testing.T) {
	var b strings.Builder
	if err := sampled(3).Print(&b); err != nil {
		t.Fatal(err)
	}
	const want = `brw read of 64 KiB, 4 at a time, 2s for each pair, 3 rounds of pairs that share no node

MiB/s
FROM / TO     10.0.0.10@tcp  10.0.0.11@tcp  10.0.0.12@tcp
10.0.0.1@tcp  -              63.5           64.5
10.0.0.2@tcp  125.0          126.0          failed

RPC/s
FROM / TO     10.0.0.10@tcp  10.0.0.11@tcp  10.0.0.12@tcp
10.0.0.1@tcp  -              1016           1032
10.0.0.2@tcp  2000           2016           failed

latency of an RPC, p50/p90/p99 of intervals
FROM / TO     10.0.0.10@tcp          10.0.0.11@tcp          10.0.0.12@tcp
10.0.0.1@tcp  -                      1.235ms/2.346ms/34.57ms  1.235ms/2.346ms/34.57ms
10.0.0.2@tcp  1.235ms/2.346ms/34.57ms  1.235ms/2.346ms/34.57ms  failed

slowest  10.0.0.1@tcp -> 10.0.0.11@tcp  1016 RPC/s
median   2000 RPC/s
fastest  10.0.0.2@tcp -> 10.0.0.11@tcp  2016 RPC/s
errors   10.0.0.1@tcp -> 10.0.0.11@tcp: 3 of 2032 RPCs
failed   10.0.0.2@tcp -> 10.0.0.12@tcp: stat: no answer <"&
`
	if got := b.String(); strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(want), " ") {
		t.Errorf("got\n%s\nwant, but for spaces,\n%s", got, want)
	}
}

// TestList: many servers make a list of pairs instead of a matrix.
func TestList(t *testing.T) {
	var b strings.Builder
	if err := sampled(widest + 1).Print(&b); err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(b.String()) {
		if strings.HasPrefix(line, "10.0.0.") {
			rows++
		}
	}
	if rows != 2*(widest+1)-1 {
		t.Errorf("%d pairs in\n%s", rows, b.String())
	}
}

// TestPlot: the heat map is well formed whatever the texts are, and has a cell for each pair.
func TestPlot(t *testing.T) {
	var b bytes.Buffer
	if err := sampled(3).Plot(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{">failed<", ">126.0<", "stat: no answer &lt;&#34;&amp;", "not measured"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("there is no %s in %s", want, b.String())
		}
	}
	cells := 0
	for d := xml.NewDecoder(&b); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := token.(xml.StartElement); ok && s.Name.Local == "g" {
			cells++
		}
	}
	if cells != 6 {
		t.Errorf("%d cells", cells)
	}
}

// TestColour: the fastest pair is green, a slow one is red. Shares below 0 and above 1 count as 0 and 1.
func TestColour(t *testing.T) {
	for share, want := range map[float64]string{-1: "#eb6e6e", 0: "#eb6e6e", 0.5: "#ebeb6e", 1: "#5aeb6e", 2: "#5aeb6e"} {
		if got := colour(share); got != want {
			t.Errorf("%v: %s, want %s", share, got, want)
		}
	}
}

// TestJSON: the result has one object for each pair, with base units.
func TestJSON(t *testing.T) {
	text, err := json.Marshal(sampled(3))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Pairs []struct {
			To      string
			Rate    float64
			Latency struct {
				P99 int64 `json:"p99_ns"`
			}
		}
	}
	if err := json.Unmarshal(text, &doc); err != nil || len(doc.Pairs) != 5 || doc.Pairs[1].To != "10.0.0.12@tcp" || doc.Pairs[1].Latency.P99 != 34567890 {
		t.Errorf("%v, %+v", err, doc)
	}
}
