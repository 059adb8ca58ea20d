"""The ends of names that Telegram takes for links although no protocol stands before them."""

from typing import Final

COUNTRIES: Final = frozenset(
    """
    ac ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bm bn bo br bs bt bw by bz
    ca cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg er es et eu fi fj fk
    fm fo fr ga gb gd ge gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy hk hm hn hr ht hu id ie il im in io iq
    ir is it je jm jo jp ke kg kh ki km kn kp kr kw ky kz la lb lc li lk lr ls lt lu lv ly ma mc md me mg mh
    mk ml mm mn mo mp mq mr ms mt mu mv mw mx my mz na nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk
    pl pm pn pr ps pt pw py qa re ro rs ru rw sa sb sc sd se sg sh si sj sk sl sm sn so sr ss st su sv sx sy
    sz tc td tf tg th tj tk tl tm tn to tr tt tv tw tz ua ug uk us uy uz va vc ve vg vi vn vu wf ws ye yt za
    zm zw
    """.split()
)
"""Of countries: files end like some of them, such as README.md, run.sh and main.rs."""

OTHERS: Final = frozenset(
    """
    academy accountant accountants actor aero agency airforce amazon analytics apartments app apple arpa art
    asia associates attorney auction audio author auto autos baby band bank bar beauty beer best bet bible
    bid bike bingo bio biz black blog blue boats bond book booking boston bot boutique box broker build
    builders business buy buzz cab cafe call cam camera camp capital car cards care career careers cars casa
    case cash casino cat catering center ceo channel charity chase chat cheap christmas church city claims
    cleaning click clinic clothing cloud club coach codes coffee college com community company compare
    computer condos construction consulting contact contractors cooking cool coop country coupon coupons
    courses cpa credit creditcard cruises dad dance data date dating day deal dealer deals degree delivery
    democrat dental dentist design dev diamonds diet digital direct directory discount docs doctor dog
    domains dot download drive earth eat eco edu education email energy engineer engineering enterprises
    equipment estate events exchange expert exposed express fail faith family fan fans farm fashion fast
    fedex feedback film final finance financial fire fish fishing fit fitness flights florist flowers fly
    foo food football ford forex forsale forum foundation fox free frontier fun fund furniture fyi gallery
    game games garden gay gift gifts gives giving glass global gmail gmbh gold golf goo goog google gov
    graphics gratis green gripe group guide guitars guru hair haus health healthcare help here hiphop hiv
    hockey holdings holiday horse hospital host hosting hot hotels house how ibm icu inc industries info ing
    ink institute insurance insure int international intuit investments irish java jewelry jobs joy juegos
    kids kim kitchen kiwi land lat law lawyer lease legal lego lgbt life lifestyle lighting like limited
    limo link live living llc llp loan loans lol london lotto love ltd luxe luxury maison makeup management
    map market marketing markets mba med media meet meme memorial men menu miami microsoft mil mini mint mit
    mobi mobile moda moe moi mom money monster mortgage moscow moto mov movie museum music name navy net
    network new news next ngo ninja now nyc observer office one ong onl online ooo open oracle orange org
    organic page paris partners parts party pay pet pharmacy phd phone photo photography photos physio pics
    pictures pid pin ping pink pizza place play plumbing plus poker post press prime pro prod productions
    prof promo properties property protection pub qpon quest racing radio read realestate realty recipes red
    rehab reise rent rentals repair report republican rest restaurant review reviews rich rip rocks rodeo
    room rsvp run safe safety sale salon sap save school science search seat secure security seek services
    sexy shoes shop shopping show singles site ski skin sky soccer social software solar solutions song
    space sport spot storage store stream studio study style sucks supplies supply support surf surgery
    systems tab talk tattoo tax taxi team tech technology tel tennis theater tickets tips tires today tokyo
    tools top tours town toys trade trading training travel trust tube university uno vacations ventures vet
    video villas vin vip vision vodka vote voting voyage watch watches weather webcam website wed wedding
    weibo wien wiki win windows wine work works world wow wtf xbox xxx xyz yachts yahoo yandex yoga you
    youtube zero zip zone
    """.split()
)
"""Of anything else, as far as anybody may come upon them."""

ABROAD: Final = frozenset("рф рус сайт орг москва дети бел 中国 中國 香港 公司 网络 한국 भारत ไทย".split())  # noqa: RUF001
"""In letters that are not Latin."""


def is_common(top: str) -> bool:
    """A name that ends in *top* becomes a link."""
    return top.lower() in COUNTRIES | OTHERS | ABROAD
