/* Calls beyond plain messages: each CK checks a result; "check" counts failures. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stddef.h>
#include <unistd.h>
#include <sys/time.h>
#include <time.h>
struct part { char c; double x[3]; int id; };
static void maxabs(void *in, void *io, int *n, MPI_Datatype *t){ double *a=in,*b=io; for(int i=0;i<*n;i++){double p=a[i]<0?-a[i]:a[i],q=b[i]<0?-b[i]:b[i]; b[i]=p>q?p:q;} }
static int copies=0, deletes=0;
static int cp(MPI_Comm c,int k,void*e,void*v,void*o,int*f){ copies++; *(void**)o=(char*)v+1; *f=1; return MPI_SUCCESS; }
static int dl(MPI_Comm c,int k,void*v,void*e){ deletes++; return MPI_SUCCESS; }
#define CK(x) do{ if(!(x)) { printf("rank %d FAIL line %d: %s\n", r, __LINE__, #x); fails++; } }while(0)
int main(int argc,char**argv){
  int r,p,fails=0; MPI_Init(&argc,&argv); MPI_Comm w=MPI_COMM_WORLD; MPI_Comm_rank(w,&r); MPI_Comm_size(w,&p);
  int nx=(r+1)%p, pv=(r+p-1)%p;
  /* I collectives */
  int a[64], b[64], c[256]; for(int i=0;i<64;i++) a[i]=r*100+i;
  MPI_Request q[8]; MPI_Status st[8];
  MPI_Iallreduce(a,b,64,MPI_INT,MPI_SUM,w,&q[0]);
  MPI_Ibarrier(w,&q[1]);
  int bc[4]={0}; if(r==1%p) for(int i=0;i<4;i++) bc[i]=7+i;
  MPI_Ibcast(bc,4,MPI_INT,1%p,w,&q[2]);
  MPI_Igather(a,2,MPI_INT,c,2,MPI_INT,0,w,&q[3]);
  MPI_Waitall(4,q,st);
  CK(b[3]==p*(p-1)/2*100+3*p); CK(bc[2]==9); if(r==0) for(int i=0;i<p;i++) CK(c[2*i+1]==i*100+1);
  MPI_Iallgather(a,3,MPI_INT,c,3,MPI_INT,w,&q[0]); int fl=0; while(!fl) MPI_Test(&q[0],&fl,st);
  for(int i=0;i<p;i++) CK(c[3*i+2]==i*100+2);
  MPI_Ialltoall(a,1,MPI_INT,c,1,MPI_INT,w,&q[0]); MPI_Wait(q,st); for(int i=0;i<p;i++) CK(c[i]==i*100+r);
  MPI_Iscan(a,b,2,MPI_INT,MPI_SUM,w,&q[0]); MPI_Iexscan(a,c,2,MPI_INT,MPI_SUM,w,&q[1]); MPI_Ireduce_scatter_block(a,bc,1,MPI_INT,MPI_MAX,w,&q[2]);
  int idx; for(int k=0;k<3;k++){ MPI_Waitany(3,q,&idx,st); CK(idx>=0&&idx<3);} MPI_Waitany(3,q,&idx,st); CK(idx==MPI_UNDEFINED);
  CK(b[0]==r*(r+1)/2*100); if(r) CK(c[0]==r*(r-1)/2*100); CK(bc[0]==(p-1)*100+r);
  /* struct */
  struct part ps[5], pr[5]; memset(pr,0,sizeof pr); for(int i=0;i<5;i++){ps[i].c='a'+i;ps[i].id=r*10+i;for(int k=0;k<3;k++)ps[i].x[k]=r+i*.1+k;}
  MPI_Datatype T,T2; int bl[3]={1,3,1}; MPI_Aint d[3]={offsetof(struct part,c),offsetof(struct part,x),offsetof(struct part,id)}; MPI_Datatype ty[3]={MPI_CHAR,MPI_DOUBLE,MPI_INT};
  MPI_Type_create_struct(3,bl,d,ty,&T); MPI_Type_create_resized(T,0,sizeof(struct part),&T2); MPI_Type_commit(&T2);
  MPI_Aint lb,ex; MPI_Type_get_extent(T2,&lb,&ex); CK(ex==sizeof(struct part)); int sz; MPI_Type_size(T2,&sz); CK(sz==29);
  MPI_Sendrecv(ps,5,T2,nx,1,pr,5,T2,pv,1,w,st); for(int i=0;i<5;i++){CK(pr[i].c=='a'+i);CK(pr[i].id==pv*10+i);CK(pr[i].x[2]==pv+i*.1+2);}
  int cnt; MPI_Get_count(st,T2,&cnt); CK(cnt==5); MPI_Get_elements(st,T2,&cnt); CK(cnt==25);
  /* indexed, subarray */
  MPI_Datatype I; int il[2]={2,3}, id[2]={1,6}; MPI_Type_indexed(2,il,id,MPI_INT,&I); MPI_Type_commit(&I); memset(b,0,sizeof b);
  MPI_Sendrecv(a,1,I,nx,2,b,5,MPI_INT,pv,2,w,st); CK(b[0]==pv*100+1&&b[4]==pv*100+8);
  int S[2]={4,5},s2[2]={2,3},s0[2]={1,1}; MPI_Datatype U; MPI_Type_create_subarray(2,S,s2,s0,MPI_ORDER_C,MPI_INT,&U); MPI_Type_commit(&U);
  MPI_Sendrecv(a,1,U,nx,3,b,6,MPI_INT,pv,3,w,st); CK(b[0]==pv*100+6&&b[3]==pv*100+11&&b[5]==pv*100+13);
  /* user op, minloc, in place */
  MPI_Op op; MPI_Op_create(maxabs,1,&op); double x[2]={r*(r%2?-1.:1.),1}, y[2]; MPI_Allreduce(x,y,2,MPI_DOUBLE,op,w); CK(y[0]==p-1); MPI_Op_free(&op);
  struct{double v;int i;} ml={(double)((r+2)%p),r}, mo; MPI_Allreduce(&ml,&mo,1,MPI_DOUBLE_INT,MPI_MINLOC,w); CK(mo.v==0&&mo.i==(p-2+p)%p);
  long double ld=1.0L+r, lo; MPI_Allreduce(&ld,&lo,1,MPI_LONG_DOUBLE,MPI_SUM,w); CK(lo==p*(p+1)/2);
  for(int i=0;i<p;i++) c[i]=-1; c[r]=r*3; MPI_Allgather(MPI_IN_PLACE,0,MPI_DATATYPE_NULL,c,1,MPI_INT,w); for(int i=0;i<p;i++) CK(c[i]==i*3);
  b[0]=r; MPI_Reduce(r==0?MPI_IN_PLACE:b,b,1,MPI_INT,MPI_SUM,0,w); if(r==0) CK(b[0]==p*(p-1)/2);
  /* attributes */
  int key; MPI_Comm_create_keyval(cp,dl,&key,NULL); MPI_Comm_set_attr(w,key,(void*)41); MPI_Comm dup; MPI_Comm_dup(w,&dup); void*v; int f; MPI_Comm_get_attr(dup,key,&v,&f); CK(f&&v==(void*)42); CK(copies==1); MPI_Comm_free(&dup); CK(deletes==1); MPI_Comm_delete_attr(w,key); CK(deletes==2); MPI_Comm_free_keyval(&key);
  int *ub; MPI_Comm_get_attr(w,MPI_TAG_UB,&ub,&f); CK(f&&*ub>=32767);
  /* RMA */
  int win_mem[16]; for(int i=0;i<16;i++) win_mem[i]=r; MPI_Win win; MPI_Win_create(win_mem,sizeof win_mem,sizeof(int),MPI_INFO_NULL,w,&win); MPI_Win_fence(0,win);
  int put=1000+r, got=-1; MPI_Put(&put,1,MPI_INT,nx,2,1,MPI_INT,win); MPI_Get(&got,1,MPI_INT,pv,5,1,MPI_INT,win); int one=1; MPI_Accumulate(&one,1,MPI_INT,0,7,1,MPI_INT,MPI_SUM,win); MPI_Win_fence(0,win);
  CK(win_mem[2]==1000+pv); CK(got==pv); if(r==0) CK(win_mem[7]==p); MPI_Win_free(&win); CK(win==MPI_WIN_NULL);
  /* wait/test forms */
  for(int i=0;i<4;i++) MPI_Irecv(c+i,1,MPI_INT,pv,20+i,w,&q[i]); for(int i=0;i<4;i++) MPI_Isend(a+i,1,MPI_INT,nx,20+i,w,&q[4+i]);
  int oc, ix[8], done=0; while(done<4){ MPI_Waitsome(4,q,&oc,ix,st); CK(oc!=MPI_UNDEFINED); if(oc==MPI_UNDEFINED) break; done+=oc; } MPI_Waitsome(4,q,&oc,ix,st); CK(oc==MPI_UNDEFINED); for(int i=0;i<4;i++) CK(c[i]==pv*100+i);
  done=0; while(done<4){ MPI_Testsome(4,q+4,&oc,ix,st); if(oc==MPI_UNDEFINED) break; done+=oc; } CK(done==4);
  MPI_Irecv(c,1,MPI_INT,MPI_ANY_SOURCE,30,w,&q[0]); MPI_Isend(a,1,MPI_INT,nx,30,w,&q[1]); f=0; int got_n=0; while(got_n<2){ MPI_Testany(2,q,&idx,&f,st); if(f&&idx!=MPI_UNDEFINED){ if(idx==0) CK(st->MPI_SOURCE==pv&&st->MPI_TAG==30); got_n++; } }
  f=0; MPI_Isend(a,7,MPI_INT,nx,31,w,&q[0]); while(!f) MPI_Iprobe(pv,MPI_ANY_TAG,w,&f,st); MPI_Get_count(st,MPI_INT,&cnt); CK(cnt==7&&st->MPI_TAG==31); MPI_Recv(c,7,MPI_INT,pv,31,w,st); MPI_Wait(q,st);
  MPI_Irecv(c,1,MPI_INT,pv,99,w,&q[0]); MPI_Cancel(&q[0]); MPI_Wait(&q[0],st); MPI_Test_cancelled(st,&f); CK(f);
  char bb[1000]; MPI_Buffer_attach(bb,1000); MPI_Bsend(a,3,MPI_INT,nx,40,w); MPI_Recv(c,3,MPI_INT,pv,40,w,st); void*bp; int bs; MPI_Buffer_detach(&bp,&bs); CK(bp==bb&&bs==1000);
  MPI_Request ps2; MPI_Issend(a,1,MPI_INT,nx,41,w,&ps2); MPI_Recv(c,1,MPI_INT,pv,41,w,st); MPI_Wait(&ps2,st);
  MPI_Recv_init(c,1,MPI_INT,pv,42,w,&q[0]); MPI_Ssend_init(a,1,MPI_INT,nx,42,w,&q[1]); for(int k=0;k<3;k++){ a[0]=r*7+k; MPI_Start(&q[0]); MPI_Start(&q[1]); MPI_Waitall(2,q,st); CK(c[0]==pv*7+k);} MPI_Request_free(&q[0]); MPI_Request_free(&q[1]); CK(q[0]==MPI_REQUEST_NULL);
  /* self */
  MPI_Isend(a,2,MPI_INT,0,5,MPI_COMM_SELF,&q[0]); MPI_Recv(c,2,MPI_INT,0,5,MPI_COMM_SELF,st); MPI_Wait(q,st+1); CK(c[1]==a[1]&&st->MPI_SOURCE==0&&st->MPI_TAG==5);
  MPI_Allreduce(&r,&cnt,1,MPI_INT,MPI_SUM,MPI_COMM_SELF); CK(cnt==r);
  /* cart */
  int dims[2]={0,0}, per[2]={1,0}; MPI_Dims_create(p,2,dims); CK(dims[0]*dims[1]==p&&dims[0]>=dims[1]); MPI_Comm cart, row; MPI_Cart_create(w,2,dims,per,0,&cart); int co[2],cr; MPI_Cart_coords(cart,r,2,co); MPI_Cart_rank(cart,co,&cr); CK(cr==r); int sub[2]={0,1}; MPI_Cart_sub(cart,sub,&row); int rs; MPI_Comm_size(row,&rs); CK(rs==dims[1]); int tt; MPI_Topo_test(cart,&tt); CK(tt==MPI_CART); MPI_Comm_free(&row); MPI_Comm_free(&cart);
  /* errors */
  MPI_Comm_set_errhandler(w,MPI_ERRORS_RETURN); int e=MPI_Send(a,1,MPI_INT,p+5,0,w); int ec; MPI_Error_class(e,&ec); CK(ec==MPI_ERR_RANK); char es[MPI_MAX_ERROR_STRING]; MPI_Error_string(e,es,&cnt); CK(cnt>0); MPI_Comm_set_errhandler(w,MPI_ERRORS_ARE_FATAL);
  MPI_Info info; MPI_Info_create(&info); MPI_Info_set(info,"a","b"); char val[10]; MPI_Info_get(info,"a",9,val,&f); CK(f&&!strcmp(val,"b")); MPI_Info_free(&info);
  char name[MPI_MAX_PROCESSOR_NAME]; MPI_Get_processor_name(name,&cnt); CK(cnt>0);
  double t0=MPI_Wtime(); struct timeval tv0,tv1; gettimeofday(&tv0,0); sleep(2); gettimeofday(&tv1,0); double t1=MPI_Wtime(); CK(t1-t0>=1.99&&t1-t0<3); double dt=tv1.tv_sec-tv0.tv_sec+(tv1.tv_usec-tv0.tv_usec)*1e-6; CK(dt>1.9&&dt<3);
  MPI_Comm st_c; MPI_Comm_split_type(w,MPI_COMM_TYPE_SHARED,0,MPI_INFO_NULL,&st_c); MPI_Comm_size(st_c,&cnt); CK(cnt>=1); MPI_Comm_free(&st_c);
  int scn[8],sdp[8]; for(int i=0;i<p;i++){scn[i]=i+1;sdp[i]=i*4;} for(int i=0;i<64;i++)a[i]=r*100+i; MPI_Scatterv(a,scn,sdp,MPI_INT,c,r+1,MPI_INT,0,w); CK(c[r]==r*4+r);
  MPI_Datatype ta[8]; int on[8]; int bd[8]; for(int i=0;i<p;i++){ta[i]=MPI_INT;on[i]=1;bd[i]=4*i;} MPI_Alltoallw(a,on,bd,ta,c,on,bd,ta,w); for(int i=0;i<p;i++) CK(c[i]==i*100+r);
  MPI_Barrier(w);
  printf("rank %d end %.9f check %d\n", r, MPI_Wtime(), fails);
  MPI_Finalize(); return fails != 0; }
