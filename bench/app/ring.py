# Ring networks of multicompartment cells for NEURON, cut to a benchmark: cells
# pass one spike around each ring; the spikes must not depend on the ranks.
# Arguments: rings, cells a ring, milliseconds of model time.
import json, sys, time
from neuron import h
h.nrnmpi_init()
pc = h.ParallelContext()
rank, size = int(pc.id()), int(pc.nhost())
rings, cells, tstop = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
h.load_file("stdrun.hoc")
keep = []
def cell(gid):
    soma, dend = h.Section(name="soma%d" % gid), h.Section(name="dend%d" % gid)
    soma.L = soma.diam = 12.6157
    dend.L, dend.diam, dend.nseg = 200, 1, 25
    dend.connect(soma(1))
    for s in (soma, dend):
        s.Ra, s.cm = 100, 1
    soma.insert("hh")
    dend.insert("pas")
    dend(0.5).pas.g, dend(0.5).pas.e = 0.001, -65
    syn = h.ExpSyn(dend(0.5))
    syn.tau = 2
    nc = h.NetCon(soma(0.5)._ref_v, None, sec=soma)
    pc.set_gid2node(gid, rank)
    pc.cell(gid, nc)
    keep.extend([soma, dend, syn, nc])
    return syn
n = rings * cells
syns = {g: cell(g) for g in range(rank, n, size)}
for g, syn in syns.items():
    src = g - 1 if g % cells else g + cells - 1
    nc = pc.gid_connect(src, syn)
    nc.delay, nc.weight[0] = 1, 0.01
    keep.append(nc)
    if g % cells == 0:
        stim = h.NetStim()
        stim.number, stim.start = 1, 0
        kick = h.NetCon(stim, syn)
        kick.delay, kick.weight[0] = 1, 0.01
        keep.extend([stim, kick])
times, gids = h.Vector(), h.Vector()
for g in syns:
    pc.spike_record(g, times, gids)
pc.set_maxstep(10)
h.finitialize(-65)
pc.barrier()
start = time.perf_counter()
pc.psolve(tstop)
pc.barrier()
solve = time.perf_counter() - start
spikes = int(pc.allreduce(len(times), 1))
slowest = pc.allreduce(solve, 2)
exchange = pc.allreduce(pc.wait_time(), 2)
if rank == 0:
    print(json.dumps({"app": "neuron-ring", "ranks": size, "cells": n, "spikes": spikes, "solve_s": slowest, "wait_s": exchange}), flush=True)
pc.barrier()
pc.done()
h.quit()
