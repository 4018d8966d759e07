#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# For a device that is there for some minutes, without a network: tests, memcheck, bench and peers in at most 8 minutes, with
# what `run.sh build` made in build/gpu/bin and build/gpu/site on another machine. $OUT/results.tgz has all results, and is renewed
# every five seconds; short_session.py lays them out for `run.sh report`. A wheel of cordage_torch in build/gpu, for the torch and
# the Python there, is tested too.
#
#   OUT=folder bash benchmarks/cuda/short_session.sh
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
: "${OUT:?a folder for results.tgz}"
g=build/gpu b=$g/bin r=$g/results; mkdir -p $r; rm -f $r/*; chmod +x $b/*
export PYTHONUNBUFFERED=1 PATH=$PATH:/usr/local/cuda/bin
exec > >(tee $r/log.txt) 2>&1
save() { tar czf "$OUT/$1.tgz" -C $g results 2>/dev/null; mv "$OUT/$1.tgz" "$OUT/results.tgz"; }
(while sleep 5; do save a; done) & s=$!
lim() { local n=$((465 - SECONDS)); [[ $1 -lt $n ]] && n=$1; shift; [[ $n -gt 4 ]] && timeout -k 5 $n "$@"; echo "== $SECONDS s, status $?: ${*:1:3}"; }
q=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader)
echo "[\"driver $q, $(date -u +%F), cordage $(cat $b/revision)\"]" >$r/machine.json
nvidia-smi --query-gpu=name,clocks.sm,clocks.mem,power.draw,clocks_event_reasons.active --format=csv,noheader -l 5 >$r/clocks.csv & c=$!
lim 90 $b/cordage_gpu_tests >$r/tests.log 2>&1; tail -n 4 $r/tests.log
lim 20 $b/cordage_gpu_launch | tee $r/launch.log
k=0 p=
for a in '-tc=*heads: norms*' '-tc=*heads:*|-tce=*heads: norms*' '-tc=*forward:*' '-tc=*/backward:*' '-tc=*normalized_backward:*' '-tce=*heads:*,*forward:*,*backward:*'; do
  IFS='|' read -ra x <<<"$a"; k=$((k + 1))
  lim 90 compute-sanitizer $b/cordage_gpu_tests "${x[@]}" >$r/memcheck$k.log 2>&1 & p+=" $!"
done
lim 90 compute-sanitizer --tool synccheck $b/cordage_gpu_tests '-tc=*heads*' >$r/synccheck.log 2>&1 & p+=" $!"
lim 90 compute-sanitizer --tool racecheck $b/cordage_gpu_tests '-tc=*normalized_backward:*' >$r/racecheck.log 2>&1 & p+=" $!"
wheel=$(ls $g/cordage_torch-*.whl 2>/dev/null | head -n 1)
if [[ -n $wheel ]]; then # -v: names of what failed, even if the time ends
  python3 -m pip install -q --no-index --no-deps --no-compile --target /tmp/site "$wheel"; log=$PWD/$r/torch_tests.log
  (cd examples/torch_extension/tests && PYTHONPATH=/tmp/site lim 110 python3 -m pytest -v -rfE -n 8 -p no:cacheprovider -k cuda \
    test_{cuda,rotation,cache_path,block_scaled,compile,models,lerope}.py >"$log" 2>&1) & p+=" $!"
fi
wait $p; grep -cE '(ERROR SUMMARY: 0 errors|RACECHECK SUMMARY: 0 hazards)' $r/{mem,sync,race}check*.log
for f in '' _fast_math; do lim 20 $b/cordage_gpu_precision$f $r/precision$f.json; done
B="$b/cordage_gpu_bench --output $r" P="python3 benchmarks/cuda/peers/compare.py --libraries $b --site $g/site --output $r/peers.json --dtypes"
lim 150 $B/bench.json --filter /exact/
lim 200 $P bf16
lim 60 $P bf16,fp32
lim 60 $B/bench2.json --filter /table
lim 30 $B/bench3.json --filter exact_o
kill $s $c; save z
