"""Stop words: function words by Snowball language, and the pieces of contractions (`don't` → don, t).

Languages that are not listed have no stop words.
"""
# ruff: noqa: RUF001  Russian is written in Cyrillic

from collections.abc import Iterable

from docmill.storage.search.keywords.analysis.folding import fold

_ENGLISH = """
a about above after again against ain all am an and any are aren as at be because been before being below between both
but by can could couldn d did didn do does doesn doing don down during each few for from further had hadn has hasn
have haven having he her here hers herself him himself his how i if in into is isn it its itself just ll m ma me might
mightn more most must mustn my myself needn no nor not now o of off on once only or other our ours ourselves out over
own re s same shan she should shouldn so some such t than that the their theirs them themselves then there these they
this those through to too under until up upon ve very was wasn we were weren what when where which while who whom why
will with won would wouldn y you your yours yourself yourselves
"""
_GERMAN = """
aber alle allem allen aller alles als also am an ander andere anderem anderen anderer anderes auch auf aus bei beim
bin bis bist da damit dann das dass dasselbe dazu dein deine deinem deinen deiner deines dem demselben den denn
denselben der derselbe derselben des desselben dessen dich die dies diese dieselbe dieselben diesem diesen dieser
dieses dir doch dort du durch ein eine einem einen einer eines einig einige einigem einigen einiger einiges einmal er
es etwas euch euer eure eurem euren eurer eures fur gegen gewesen hab habe haben hat hatte hatten hier hin hinter ich
ihm ihn ihnen ihr ihre ihrem ihren ihrer ihres im in indem ins ist ja jede jedem jeden jeder jedes jene jenem jenen
jener jenes jetzt kann kein keine keinem keinen keiner keines konnen konnte machen man manche manchem manchen mancher
manches mein meine meinem meinen meiner meines mich mir mit muss musste nach nicht nichts noch nun nur ob oder ohne
sehr sein seine seinem seinen seiner seines selbst sich sie sind so solche solchem solchen solcher solches soll sollte
sondern sonst uber um und uns unser unsere unserem unseren unserer unseres unter viel vom von vor wahrend war waren
warst was weg weil weiter welche welchem welchen welcher welches wenn wer werde werden wie wieder will wir wird wirst
wo wollen wollte wurde wurden zu zum zur zwar zwischen
"""
_FRENCH = """
a ai aie aient aies ait apres as au aucun aucune aura aurai aurait auront aussi autre autres aux avaient avais avait
avant avec avez aviez avions avoir avons ayant ayons c ce ceci cela celle celles celui ces cet cette ceux chaque ci
comme comment d dans de depuis des donc dont du elle elles en encore entre es est et etaient etais etait etant ete
etes etiez etions etre eu eux fait fut furent ici il ils j je jusqu jusque l la le les leur leurs lors lorsque lui m
ma mais me meme memes mes moi moins mon n ne ni nos notre nous on ont or ou par parce pas pendant peu peut plus pour
pourquoi puis qu quand que quel quelle quelles quels qui quoi s sa sans se sera serai serait seront ses si sien soi
soient sois soit sommes son sont sous suis sur t ta te tes toi ton tous tout toute toutes tres tu un une vers voici
voila vos votre vous y
"""
_SPANISH = """
a al algo algun alguna algunas alguno algunos ante antes aquel aquella aquellas aquello aquellos aqui asi aun aunque
cada como con contra cual cuales cuando cuanto de del desde donde dos durante e el ella ellas ellos en entre era eran
eras eres es esa esas ese eso esos esta estaba estaban estado estamos estan estar estas este esto estos estoy fue
fueron fui ha habia habian han has hasta hay he hemos la las le les lo los mas me mi mia mias mientras mio mios mis
mucho muchos muy nada ni no nos nosotros nuestra nuestras nuestro nuestros o os otra otras otro otros para pero poco
por porque pues que quien quienes se sea sean ser si sido siendo sin sobre sois somos son soy su sus suya suyas suyo
suyos tambien tanto te tenia tiene tienen ti toda todas todo todos tu tus tuya tuyo u un una unas uno unos vosotros
vuestra vuestro y ya yo
"""
_ITALIAN = """
a abbia abbiamo abbiano ad agli ai al alla alle allo anche ancora avere aveva avevano c che chi ci cio coi col come
con contro cosa cui d da dagli dai dal dalla dalle dallo degli dei del della delle dello di dopo dove e ebbe ed era
erano essere essi fra fu furono gia gli ha hai hanno ho i il in io l la le lei li lo loro lui ma me mi mia mie miei
mio ne negli nei nel nella nelle nello no noi non nostra nostre nostri nostro o ogni oppure per perche piu poi puo qua
quale quali quando quanta quante quanti quanto quella quelle quelli quello questa queste questi questo qui s sara
saranno se sei senza si sia siamo siano siete sono sopra sotto sta stata stati stato sto su sua sue sugli sui sul
sulla sulle sullo suo suoi tra tu tua tue tuo tuoi tutta tutte tutti tutto un una uno v vi voi vostra vostre vostri
vostro
"""
_PORTUGUESE = """
a ainda ao aos apenas aquela aquelas aquele aqueles aquilo as ate cada com como da das de dela delas dele deles depois
desde do dos e ela elas ele eles em entre era eram essa essas esse esses esta estamos estao estar estas estava estavam
este estes estive estou eu foi fomos for foram fosse fui ha houve isso isto ja lhe lhes mais mas me mesmo meu meus
minha minhas muito na nao nas nem no nos nossa nossas nosso nossos num numa o onde os ou para pela pelas pelo pelos
por porque qual quais quando que quem sao se seja sem ser sera seu seus so sob sobre somos sou sua suas tambem te tem
temos tenho ter teu teus tinha tu tua tuas tudo um uma umas uns voce voces vos
"""
_DUTCH = """
aan al alles als altijd andere ben bij daar dan dat de der deze die dit doch doen door dus een eens en er ge geen
geweest haar had heb hebben heeft hem het hier hij hoe hun iemand iets ik in is ja je jij jullie kan kon kunnen maar
me meer men met mij mijn moet na naar niet niets nog nu of om omdat onder ons ook op over reeds t te tegen toch toen
tot u uit uw van veel voor want waren was wat we wel werd wezen wie wij wil worden wordt zal ze zelf zich zij zijn zo
zonder zou
"""
_SWEDISH = """
alla allt att av blev bli blir da dar de deg dem den denna deras dess dessa det detta dig din dina ditt du efter ej
eller en er ert ett for fran ha hade han hans har henne hennes hon honom hur i icke in inom inte jag ju kan kunde man
med mellan men mig min mina mitt mot mycket na nagon nagot nagra nar ni nu och om oss pa sa sadan sadana samma sedan
sig sin sina sitt sjalv skulle som till under upp ut utan vad var vara varfor varit varje vars vart vem vi vid vilka
vilken vilket
"""
_DANISH = """
af alle alt anden at blev blive bliver da de dem den denne der deres det dette dig din dine disse dit dog du efter
eller en end er et for fra ham han hans har havde have hende hendes her hos hun hvad hvis hvor i ikke ind jeg jer jo
kunne man mange med meget men mig min mine mit mod ned noget nogle nu når og ogsa om op os over pa selv sig sin sine
sit skal skulle som sådan til ud under var vi vil ville vor være været
"""
_NORWEGIAN = """
alle at av bare begge ble blei bli blir da de deg dei deim dem den denne der dere deres det dette di din disse ditt du
eller en enn er et ett etter for fordi fra før ha hadde han hans har hennes her hos hun hva hvem hver hvilke hvilken
hvis hvor hvordan hvorfor i ikke ikkje inn ja jeg kan kom kun kunne man mange med meg mellom men mer min mine mitt mot
mye ned no noe noen nå når og også om opp oss over på samme seg selv si sin sine sitt skal skulle slik som så til um
uten ut var vart ved vi vil ville vår være vært å
"""
_FINNISH = """
ei en et eivat emme ette ja joka jotka jonka joita jolla jos kaikki kanssa kuin kun kuka he han hanen heidan hanta ihan
itse jo joissa jossa jota jotta koska koko kuitenkin kuten minka minulla minun minut minä me meidan meille mika mikä
mitä mita mutta muun mukaan muut myos nain ne niin niiden niista niita nyt ne nama noin olemme olen olet olette oli
olisi olivat olla olleet ollut on ovat ole paitsi sekä seka sen se sellainen siella siina sille siis sina sinun sita
silla siita silti sita tai taman tama tassa tasta te tekee teidan tuo tuli vaan vain vaikka viela voi voidaan voivat
yli ylla ennen jalkeen
"""
_HUNGARIAN = """
a abban ahhoz ahogy ahol aki akik akkor alatt altal altalaban am amely amelyek amelyekben amelyet amelynek ami amikor
amit annak arra arrol az azert aztan azok azon azonban azt azzal be belul benne cikk csak de e eddig egesz egy egyeb
egyes egyik egyre ekkor el elott elso ennek erre es ez ezek ezen ezert ezt ezzel fel ha hanem hiszen hogy hogyan igen
igy ill illetve ilyen is ismet itt jo jol kell kellett keresztul ki kivul kozott kozul legalabb legyen lehet lehetett
lenne lesz lett maga majd meg mely melyek mert mi mig mikor milyen minden mindig mint mintha mit mivel most nagy nagyon
ne neha nehany nekem neki nem nincs olyan ott ossze o ok oket pedig persze ra sajat sem semmi sok sokkal szamara
szerint szinte tehat tobb tovabb tovabba ugyanis uj ujra utan utana vagy vagyok valaki valami valo van vannak vele
viszont volna volt voltak voltam
"""
_TURKISH = """
acaba ama ancak artik asla aslinda az bana bazi belki ben beni benim bir biraz birisi bircok birkac biz bize bizi bizim
boyle bu buna bunda bundan bunlar bunlarin bunu bunun burada cunku da daha de defa degil diger diye dolayi en eger
fakat gibi gore halen hangi hatta hem henuz hep hepsi her herhangi herkes hic icin ile ise iste kadar karsin kendi ki
kim kimse mi mu nasil ne neden nerede niye o olan olarak oldu oldugu olduklarini olmadi olmak olmasi olsun olup olur
ona ondan onlar onlarin onu onun oysa pek ragmen sadece sanki sen siz sonra su sey sunu tarafindan tum uzere var ve
veya ya yani yapilan yapmak yerine yine yoksa zaten
"""
_ROMANIAN = """
a acea aceasta aceste acest acestea acestei acestor acestui acela acel acei ai al ale alt alta alte altul am ar are as
asa asta atat au avea avem avut azi ca care cat catre ce cel cele cei celor cand chiar cine cineva cu cum da daca dar
de deci decat deja desi despre din dintr dintre doar dupa ea ei el ele era este eu fata fi fie fiecare fiind fost fara
ii il imi in inainte insa intr intre isi iti la le li lor lui mai mea mei mereu mult multe multi nici nimic niste noi
nostru nu ori pana pe pentru peste poate prin sa sale sau se si sub sunt spre tot toate toti totusi trebuie un una unde
unei unii unor unui unul va voi vor
"""
_POLISH = """
aby ale ani az bardzo bez bo bowiem by byc byl byla bylo byly bedzie beda chce choc co cos czy czyli dla do dzis gdy
gdzie go ich ile im inne inny ja jak jako jakie jaki je jeden jednak jednym jedynie jego jej jemu jest jestem jesli
jeszcze juz kazdy kiedy kto ktora ktore ktorego ktorej ktory ktorych ktorym ktorzy ku lub ma maja mi miedzy mnie moga
moze mozna mu my na nad nam nas nawet nia nic nich nie niego niej nim niz no o od on ona one oni ono oraz po pod
podczas poniewaz poza przed przede przez przy roku rowniez sa sie soba sobie swoje swoj ta tak taki takie takze tam te
tego tej ten to tu tych tylko tym u w we wiec wszystko wszystkich wszystkie z za zas ze zeby
"""
_CZECH = """
aby ale ani ano asi az bez bude budou by byl byla byli bylo byt ci co cili dnes do ho i ja jak jako je jeho jej jeji
jejich jen jenz jeste ji jich jim jine jiz jsem jsi jsme jsou jste k kam kde kdo kdyz ke ktera ktere kteri kterou
ktery kterych ku ma mate me mezi mi mit mne mnou muj muze my na nad nam nas nasi ne nebo nebot nechť nejsou neni nez
nic nich nim o od ode on ona oni ono pak po pod podle pokud pouze prave pred pres pri pro proc proto protoze prvni
pta re s se si sice své svuj svych svym ta tak take takze tato te tedy ten tento teto tim tito to tohle toho tomto
tomu tom tu tuto ty tyto u uz v vam vas ve vedle vsak vsech vsechno vy z za zda zde ze
"""
_CATALAN = """
a aixi aixo al als altra altre altres amb aquell aquella aquelles aquells aquest aquesta aquestes aquests com cada cap
d de del dels des doncs durant e el ella elles ells els em en encara ens entre era eren es esta estan et ets fa fer fins
ha han hem hi ho i jo l la les li llur lo m ma mateix me mes meu meva mentre molt molta moltes molts n no nosaltres o on
pel pels per perque pero poc pot qual quals quan que qui s sa sense ser seu seus seva seves si sobre soc son sota t
tambe tan tant te tot tota totes tots tu un una unes uns va van vam vosaltres
"""
_INDONESIAN = """
ada adalah agar akan aku anda antara apa apakah atas atau bagi bahwa banyak baru beberapa belum berbagai bisa bukan
dalam dan dapat dari dengan di dia dua hal hanya harus hingga ia ini itu jika juga kami kamu karena ke kecil kepada
kemudian kita lagi lain lalu lebih maka masih melalui memiliki mereka merupakan namun oleh orang pada para pun saat
saja sama sampai sangat saya sebagai sebuah secara sedang sehingga sejak selama semua seorang seperti serta setelah
setiap sudah suatu supaya tanpa telah tentang tersebut tetapi tidak untuk yaitu yang
"""
_RUSSIAN = """
а без более бы был была были было быть в вам вас весь во вот все всего всех вы где да даже для до его ее если есть еще
же за здесь и из или им их к как ко когда кто ли либо мне может мы на над надо наш не него нее нет ни них но ну о об
однако он она они оно от очень по под при с со так также такой там те тем то того тоже той только том ты у уже хотя
чего чей чем что чтобы чье чья эта эти это этого этой этом этот я
"""


def _words(text: str) -> frozenset[str]:
    return frozenset(map(fold, text.split()))


STOP_WORDS: dict[str, frozenset[str]] = {
    "english": _words(_ENGLISH),
    "german": _words(_GERMAN),
    "french": _words(_FRENCH),
    "spanish": _words(_SPANISH),
    "italian": _words(_ITALIAN),
    "portuguese": _words(_PORTUGUESE),
    "dutch": _words(_DUTCH),
    "swedish": _words(_SWEDISH),
    "danish": _words(_DANISH),
    "norwegian": _words(_NORWEGIAN),
    "finnish": _words(_FINNISH),
    "hungarian": _words(_HUNGARIAN),
    "turkish": _words(_TURKISH),
    "romanian": _words(_ROMANIAN),
    "polish": _words(_POLISH),
    "czech": _words(_CZECH),
    "catalan": _words(_CATALAN),
    "indonesian": _words(_INDONESIAN),
    "russian": _words(_RUSSIAN),
}


def stop_words(languages: Iterable[str]) -> frozenset[str]:
    """Return the stop words of all given languages together."""
    return frozenset().union(*(STOP_WORDS.get(language, ()) for language in languages))
