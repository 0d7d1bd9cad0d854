package tree

// Parse reads a file into a tree. Its error is the first one in the file.
func Parse(text []byte) (*Tree, error) {
	f, err := Read(text)
	if err != nil {
		return nil, err
	}
	return f.Tree()
}

// Tree joins the items of the file to a tree. Its error is the first one in the file.
func (f *File) Tree() (*Tree, error) {
	t := new(Tree)
	for _, s := range f.Sections {
		if len(s.Errs) > 0 {
			return nil, s.Errs[0]
		}
		for _, i := range s.Items {
			t.add(i)
		}
	}
	return t, nil
}

// add adds an item to the tree.
func (t *Tree) add(i Item) {
	switch {
	case i.Net != nil:
		if last := len(t.Net) - 1; last >= 0 && t.Net[last].Type == i.Net.Type {
			t.Net[last].NIs = append(t.Net[last].NIs, i.Net.NIs...)
			return
		}
		t.Net = append(t.Net, *i.Net)
	case i.Route != nil:
		t.Route = append(t.Route, *i.Route)
	case i.Peer != nil:
		t.Peer = append(t.Peer, *i.Peer)
	case i.Setting != nil:
		if t.Global == nil {
			t.Global = new(Global)
		}
		t.Global.Set(*i.Setting)
	case i.Routing != nil:
		t.Routing = i.Routing
	case i.Buffers != nil:
		t.Buffers = i.Buffers
	case i.UDSP != nil:
		t.UDSP = append(t.UDSP, *i.UDSP)
	}
}
