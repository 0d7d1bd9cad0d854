package control_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	. "ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules/gossip"
	healthmod "ulnet/cmd/internal/modules/health"
	"ulnet/cmd/internal/node"
	"ulnet/gossip/zone"
	"ulnet/health"
	"ulnet/lnet"
	"ulnet/lnet/nid"
)

// drawNID draws any NID that fits a message: of known and unknown types, with addresses of
// every length.
func drawNID(t *rapid.T, label string) nid.NID {
	wire := rapid.SliceOfN(rapid.Byte(), nid.ExtendedSize, nid.ExtendedSize).Draw(t, label)
	wire[0] %= 13
	wire[1] = rapid.SampledFrom([]byte{byte(nid.TCP), byte(nid.TCP), byte(nid.O2IB), byte(nid.Lo), byte(nid.GNI), 17, 200, 0, 255, wire[1]}).Draw(t, "type")
	n, _, err := nid.ParseExtended(wire)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// filler fills answers with odd NIDs.
type filler struct {
	t     *rapid.T
	depth int
}

// fill sets every NID, network, process id and node id below v, and gives each list and map two
// elements.
func (f *filler) fill(v reflect.Value) {
	switch p := v.Addr().Interface().(type) {
	case *nid.NID:
		*p = drawNID(f.t, "NID")
		return
	case *nid.Net:
		*p = drawNID(f.t, "net").Net()
		return
	case *nid.ProcessID:
		*p = nid.ProcessID{NID: drawNID(f.t, "NID"), PID: nid.PID(rapid.Uint32().Draw(f.t, "PID"))}
		return
	case *json.RawMessage: // clients decode it as an object whose values are numbers
		*p = json.RawMessage(`{"a":1}`)
		return
	case *health.ClientID:
		*p = health.ClientIDOf("a")
		return
	case *zone.ID:
		if id, err := zone.NewID("n", drawNID(f.t, "endpoint")); err == nil {
			*p = id
		}
		return
	}
	f.depth++
	defer func() { f.depth-- }()
	if f.depth > 12 {
		f.t.Fatalf("%v contains itself", v.Type())
	}
	f.into(v)
}

// into fills the elements and fields of v.
func (f *filler) into(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() && field.Tag.Get("json") != "-" {
				f.fill(v.Field(i))
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			f.fill(v.Index(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		f.fill(key)
		f.fill(value)
		v.SetMapIndex(key, value)
	}
}

// answers returns the types of the answers that clients decode, by the path of the request.
func answers() map[string]reflect.Type {
	types := make(map[string]reflect.Type)
	for _, r := range allRoutes() {
		if r.Kind == Asks || r.Kind == Orders {
			types[r.Path] = r.Answer
		}
	}
	return types
}

// TestOddNIDsInAnswers: whatever NIDs peers bring into the state of a node, the client decodes
// every answer of the control socket to the original value, without losing entries.
func TestOddNIDsInAnswers(t *testing.T) {
	all := answers()
	if all["/v1/status"] != reflect.TypeFor[node.Status]() || len(all) < 20 {
		t.Fatalf("the client has the answers %v", all)
	}
	for name, typ := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				v := reflect.New(typ)
				(&filler{t: t}).fill(v.Elem())
				text, err := json.Marshal(v.Interface())
				if err != nil {
					t.Fatal(err)
				}
				back := reflect.New(typ)
				if err := json.NewDecoder(bytes.NewReader(text)).Decode(back.Interface()); err != nil {
					t.Fatalf("%v\n%s", err, text)
				}
				if again, err := json.Marshal(back.Interface()); err != nil || !bytes.Equal(again, text) {
					t.Fatalf("%s\ncomes back as %s, %v", text, again, err)
				}
			})
		})
	}
}

// TestOddNIDsInRequests: a request can contain a NID of any kind.
func TestOddNIDsInRequests(t *testing.T) {
	d := serve(t, Config{Routes: slices.Concat((&fakeNode{}).routes(), new(fakeGossip).routes())})
	client := NewClient(d.path)
	for _, text := range []string{"10.0.0.1@tcp", "fd88::1@tcp", "a000001@<200:7>", "1:200/7@<2:0>", "0@<9:1>"} {
		id := nid.MustParse(text)
		if x, err := gossip.OpExplain.Call(t.Context(), client, gossip.Participant{NID: id}); err != nil || x.NID != id {
			t.Errorf("%v is explained as %v, %v", id, x.NID, err)
		}
		if x, err := node.OpDiscover.Call(t.Context(), client, node.DiscoverRequest{Target: id}); err != nil || x.Primary != id {
			t.Errorf("%v is discovered as %v, %v", id, x.Primary, err)
		}
	}
}

// TestUndecodableEntries: entries that the client cannot decode, such as those of a later
// daemon, are left out and named in an error. The other entries are decoded.
func TestUndecodableEntries(t *testing.T) {
	var warnings strings.Builder
	c := NewClient("nowhere").WarnTo(&warnings)
	const status = `{"pid":7,"nis":[{"nid":"10.0.0.2@tcp","tunables":{}},{"nid":"x@later"}],"later":1}`
	const page = `{"peers":[{"nid":"10.0.0.1@tcp","available_tx_credits":3},{"nid":"10.0.0.1@ether"},{"nid":"10.0.0.3@tcp"},{"nid":7}],
"known":[{"primary":"10.0.0.4@tcp","nis":[{"nid":"?","status":"up"},{"nid":"10.0.0.5@tcp","status":"down"}]}]}`
	var s node.Status
	var p node.PeerPage
	if err := errors.Join(c.DecodeAnswer([]byte(status), &s), c.DecodeAnswer([]byte(page), &p)); err != nil {
		t.Fatal(err)
	}
	want := node.Status{PID: 7}
	want.NIs = []node.NIStatus{{NISnapshot: lnet.NISnapshot{NID: nid.MustParse("10.0.0.2@tcp")}}}
	var peers node.PeerPage
	peers.Peers = []lnet.PeerSnapshot{{NID: nid.MustParse("10.0.0.1@tcp"), Credits: 3}, {NID: nid.MustParse("10.0.0.3@tcp")}}
	peers.Known = []node.KnownPeer{{Primary: nid.MustParse("10.0.0.4@tcp"), NIs: []node.PingedNI{{NID: nid.MustParse("10.0.0.5@tcp"), Status: "down"}}}}
	if !reflect.DeepEqual(s, want) || !reflect.DeepEqual(p, peers) {
		t.Errorf("got %+v, %+v\nwant %+v, %+v", s, p, want, peers)
	}
	for _, at := range []string{"nis[1]", "peers[1]", "peers[3]", "known[0].nis[0]"} {
		if strings.Count(warnings.String(), "left out "+at+":") != 1 {
			t.Errorf("no warning of %s:\n%s", at, warnings.String())
		}
	}
	var list []healthmod.Peer
	if err := c.DecodeAnswer([]byte(`[{"nid":"?"},{"nid":"10.0.0.1@tcp","clients":4}]`), &list); err != nil || len(list) != 1 || list[0].Clients != 4 {
		t.Errorf("a list: %v, %v", list, err)
	}
}

// TestUndecodableAnswer: an answer that is truncated, or that is wrong in a part that is not an
// entry of a list, is an error.
func TestUndecodableAnswer(t *testing.T) {
	for _, text := range []string{`{"pid":"seven"}`, `{"nis":{}}`, `{"nis":[{"nid":"10.0.0.1@tcp"}`, `[]`, ``, `{"nis":[{"nid":"?"}],"pid":-1}`} {
		var warnings strings.Builder
		c := NewClient("nowhere").WarnTo(&warnings)
		if err := c.Decode(t.Context(), io.NopCloser(strings.NewReader(text)), new(node.Status)); err == nil || warnings.Len() > 0 {
			t.Errorf("%s: %v, %s", text, err, warnings.String())
		}
	}
}
