// SPDX-License-Identifier: Apache-2.0

// Package values carries attribute values to and from pdata; alike in all its releases.
package values

import (
	"encoding/hex"
	"fmt"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"profrelay/layouts/content"
)

func Put(v content.Value, to pcommon.Value) {
	switch v.Kind {
	case "s":
		to.SetStr(v.Text)
	case "b":
		to.SetBool(v.Bool)
	case "i":
		to.SetInt(v.Int)
	case "d":
		to.SetDouble(v.Double)
	case "bytes":
		raw, _ := hex.DecodeString(v.Text)
		to.SetEmptyBytes().FromRaw(raw)
	case "a":
		list := to.SetEmptySlice()
		for _, e := range v.List {
			Put(e, list.AppendEmpty())
		}
	case "m":
		m := to.SetEmptyMap()
		for _, e := range v.Map {
			Put(e.Val, m.PutEmpty(e.Key))
		}
	}
}

func Get(from pcommon.Value) content.Value {
	switch from.Type() {
	case pcommon.ValueTypeEmpty:
		return content.Value{}
	case pcommon.ValueTypeStr:
		return content.Value{Kind: "s", Text: from.Str()}
	case pcommon.ValueTypeBool:
		return content.Value{Kind: "b", Bool: from.Bool()}
	case pcommon.ValueTypeInt:
		return content.Value{Kind: "i", Int: from.Int()}
	case pcommon.ValueTypeDouble:
		return content.Value{Kind: "d", Double: from.Double()}
	case pcommon.ValueTypeBytes:
		return content.Value{Kind: "bytes", Text: hex.EncodeToString(from.Bytes().AsRaw())}
	case pcommon.ValueTypeSlice:
		v := content.Value{Kind: "a"}
		for i := range from.Slice().Len() {
			v.List = append(v.List, Get(from.Slice().At(i)))
		}
		return v
	case pcommon.ValueTypeMap:
		v := content.Value{Kind: "m"}
		from.Map().Range(func(k string, e pcommon.Value) bool {
			v.Map = append(v.Map, content.Entry{Key: k, Val: Get(e)})
			return true
		})
		content.SortEntries(v.Map)
		return v
	}
	panic(fmt.Sprintf("value of type %v", from.Type()))
}

func PutAttrs(list []*content.Attr, to pcommon.Map) {
	for _, a := range list {
		Put(a.Val, to.PutEmpty(a.Key))
	}
}

func GetAttrs(from pcommon.Map) []*content.Attr {
	out := []*content.Attr{}
	from.Range(func(k string, e pcommon.Value) bool {
		out = append(out, &content.Attr{Key: k, Val: Get(e)})
		return true
	})
	return out
}

// ID is the id whose hexadecimal form is text; all zero for "".
func ID[T [8]byte | [16]byte](text string) (id T) {
	raw, _ := hex.DecodeString(text)
	switch p := any(&id).(type) {
	case *[8]byte:
		copy(p[:], raw)
	case *[16]byte:
		copy(p[:], raw)
	}
	return id
}

// Raw is an id's bytes, none for an empty one.
func Raw(id [16]byte, empty bool) []byte {
	if empty {
		return nil
	}
	return id[:]
}
