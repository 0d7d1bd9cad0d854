package archtest

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// wireFormats are packages that declare all constants of a protocol, even those that this tree
// does not use.
const wireFormats = "lnet/wire lnet/nid lnd/socklnd/ksock lnd/o2iblnd/kib lnd/verbs/ibta gossip/wire gossip/zone/wire scoll/wire scoll/rmcast/wire health/wire lnet/selftest/wire"

// symbol is an exported name at package level.
type symbol struct {
	pkg, name string
	at        token.Position
	kind      string // why the name may be exported although no other package uses it; empty: it may not
}

// maxUnused bounds the exported names that no other package mentions, in packages that programs
// may import. Most are types that a program gets as a result or in a field, without writing
// their names.
const maxUnused = 100

// TestUnusedSymbols fails on exported names outside cmd that no file of another package
// mentions, tests included; a test in package foo_test counts as another package. Exceptions are
// errors, members of an enumeration, names of wire formats, and types that an exported
// declaration needs. There may be at most maxUnused exceptions.
func TestUnusedSymbols(t *testing.T) {
	count, total := map[string]int{}, 0
	for _, s := range unused(load(t)) {
		count[s.kind]++
		switch {
		case s.kind == "":
			t.Errorf("%s: no file outside of %s names %s: unexport or remove it", s.at, s.pkg, s.name)
		case !internal(s.pkg):
			total++
			t.Logf("%s: %s of %s (%s)", s.at, s.name, s.pkg, s.kind)
		}
	}
	t.Logf("exported names without a use outside their package: %v; %d of them in packages that programs may import", count, total)
	if total > maxUnused {
		t.Errorf("%d exported names have no use outside their package, want %d at most: unexport some, remove them, or show their use in an example or a test of package foo_test", total, maxUnused)
	}
}

// internal reports whether programs cannot import a package.
func internal(pkg string) bool { return slices.Contains(strings.Split(pkg, "/"), "internal") }

// TestUnusedIsCaught: a name that no other package uses is reported, and the exceptions are
// not.
func TestUnusedIsCaught(t *testing.T) {
	list := unused(write(t, map[string]string{
		"lnd/lo/lo.go": `package lo
			var ErrFull, Spare = 1, 2
			type State uint8
			const (
				Off State = iota
				On
				Most = 5
			)
			type Result struct{ Left *Rest }
			type Rest struct{}
			type Alone struct{ hidden *Inner }
			type Inner struct{}
			func New() Result { return Result{} }
			func Old(a Alone) {}
			func old(a Alone) {}
			func (Inner) Method() {}`,
		"lnd/lo/lo_test.go":   "package lo\nvar x = Spare",
		"lnd/lo/out_test.go":  "package lo_test\nimport \"ulnet/lnd/lo\"\nvar x = lo.Old",
		"cmd/lnetd/main.go":   "package main\nimport other \"ulnet/lnd/lo\"\nfunc main() { other.New() }\nfunc Main() {}",
		"lnet/wire/wire.go":   "package wire\nconst Magic = 1",
		"lnd/fault/use_lo.go": "package fault\nimport \"ulnet/lnd/lo\"\nvar On = lo.On\nvar f = New",
	}))
	var got []string
	for _, s := range list {
		got = append(got, strings.TrimSpace(s.name+" "+s.kind))
	}
	want := []string{"On", "ErrFull error", "Spare", "State signature", "Off member", "Most", "Result signature", "Rest signature", "Alone signature", "Inner", "Magic wire"}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
}

// unused returns the exported names outside cmd that no other package uses, by package and position.
func unused(pkgs []*Package) []symbol {
	names := map[string]string{} // names of packages, by path
	for _, p := range pkgs {
		for _, f := range p.Files {
			if !f.Test {
				names[p.Path] = f.AST.Name.Name
			}
		}
	}
	used := map[string]bool{}
	for _, p := range pkgs {
		for _, f := range p.Files {
			f.mentions(p.Path, names, used)
		}
	}
	var list []symbol
	for _, p := range pkgs {
		if match("cmd/...", p.Path) || names[p.Path] == "main" {
			continue
		}
		needed := p.signatures()
		for _, f := range p.Files {
			if f.Test {
				continue
			}
			for _, s := range f.exported(p.Path) {
				if used[s.pkg+"."+s.name] {
					continue
				}
				if s.kind == "" && needed[s.name] {
					s.kind = "signature"
				}
				list = append(list, s)
			}
		}
	}
	return list
}

// mentions adds the names of other packages that a file uses.
func (f *File) mentions(pkg string, names map[string]string, used map[string]bool) {
	imported := map[string]string{}
	for i, to := range f.Imports {
		if to == pkg && !strings.HasSuffix(f.AST.Name.Name, "_test") {
			continue
		}
		name := names[to]
		if as := f.AST.Imports[i].Name; as != nil {
			name = as.Name
		}
		imported[name] = to
	}
	ast.Inspect(f.AST, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := s.X.(*ast.Ident); ok && imported[id.Name] != "" {
				used[imported[id.Name]+"."+s.Sel.Name] = true
			}
		}
		return true
	})
}

// exported returns the exported names that a file declares.
func (f *File) exported(pkg string) []symbol {
	var list []symbol
	add := func(id *ast.Ident, kind string) {
		if id.IsExported() {
			list = append(list, symbol{pkg, id.Name, f.Fset.Position(id.Pos()), kind})
		}
	}
	for _, d := range f.AST.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				add(d.Name, "")
			}
		case *ast.GenDecl:
			typed := false // true: the latest constant with a value has a type, or repeats a constant of an engine; this applies to the constants without a value after it, too
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					kind := errorKind(s.Name.Name, "Error")
					switch {
					case s.Assign.IsValid(): // an alias, by which the package exports a type of its engine
						kind = "signature"
					case match("lnd/capture", pkg) && s.Name.Name == "Layer":
						kind = "layer"
					}
					add(s.Name, kind)
				case *ast.ValueSpec:
					typed = s.Type != nil || typed && len(s.Values) == 0 || len(s.Values) > 0 && isMember(s.Values[0])
					for _, id := range s.Names {
						kind := errorKind(id.Name, "Err")
						switch {
						case d.Tok == token.CONST && match(wireFormats, pkg):
							kind = "wire"
						case d.Tok == token.CONST && typed:
							kind = "member"
						case strings.HasPrefix(id.Name, "LayerType"):
							kind = "layer"
						}
						add(id, kind)
					}
				}
			}
		}
	}
	return list
}

func errorKind(name, part string) string {
	if strings.HasPrefix(name, part) || strings.HasSuffix(name, part) {
		return "error"
	}
	return ""
}

// isMember reports whether the value of a constant is an exported name of another package, as in
// "const X = engine.Y".
func isMember(value ast.Expr) bool {
	s, ok := value.(*ast.SelectorExpr)
	return ok && s.Sel.IsExported()
}

// signatures returns the names of types that the exported declarations of a package use: in
// results, parameters and exported fields, and in types.
func (p *Package) signatures() map[string]bool {
	needed := map[string]bool{}
	for _, f := range p.Files {
		if f.Test {
			continue
		}
		for _, d := range f.AST.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && (d.Recv == nil || receiver(d).IsExported()) {
					noteTypes(needed, d.Type)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.ValueSpec:
						if s.Type != nil && slices.ContainsFunc(s.Names, (*ast.Ident).IsExported) {
							noteTypes(needed, s.Type)
						}
					case *ast.TypeSpec:
						if s.Name.IsExported() {
							noteTypes(needed, s.Type)
							if s.TypeParams != nil {
								noteTypes(needed, s.TypeParams)
							}
						}
					}
				}
			}
		}
	}
	return needed
}

// receiver returns the type of a method's receiver.
func receiver(d *ast.FuncDecl) (id *ast.Ident) {
	ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
		if x, ok := n.(*ast.Ident); ok && id == nil {
			id = x
		}
		return id == nil
	})
	return id
}

// noteTypes adds the names in a type, except those in unexported fields.
func noteTypes(needed map[string]bool, t ast.Node) {
	ast.Inspect(t, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.StructType:
			for _, field := range n.Fields.List {
				if len(field.Names) == 0 || slices.ContainsFunc(field.Names, (*ast.Ident).IsExported) {
					noteTypes(needed, field.Type)
				}
			}
			return false
		case *ast.SelectorExpr:
			return false
		case *ast.Ident:
			needed[n.Name] = true
		}
		return true
	})
}
