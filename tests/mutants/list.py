import importlib.util,sys
spec=importlib.util.spec_from_file_location('c','check.py'); m=importlib.util.module_from_spec(spec); spec.loader.exec_module(m)
n=0
for p in sorted(m.folder.glob('*.txt')):
    for o in m.read_list(p):
        n+=1
        c=(m.root/'include/cordage'/o.header).read_text().count(o.old)
        if c!=1: print(o.place,o.header,c,repr(o.old))
print(n)
